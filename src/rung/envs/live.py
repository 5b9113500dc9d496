"""LiveConfig: where an environment works when it is not simulated."""

from dataclasses import dataclass

from rung.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveConfig:
    """Real services of the live stage. Nothing irreversible happens unless `send` is true."""

    database: str = ""
    """`postgresql://user@host:port/name` without a password (use PGPASSWORD or ~/.pgpass),
    `sqlite:FOLDER` for a file per trajectory, or empty for a database in memory."""
    folder: str = ""
    """Folder in which each trajectory gets a workspace of its own; empty: the system's."""
    mail: str = ""
    """`host:port` of an SMTP server."""
    sender: str = "agent@office.example"
    """Address that messages come from."""
    send: bool = False
    """Really send messages; otherwise they are only recorded."""
    recipients: tuple[str, ...] = ()
    """Addresses, or `@domain`, that may be written to; needed in order to send."""

    def __post_init__(self) -> None:
        kind, _, place = self.database.partition(":")
        if self.database and (kind not in ("postgresql", "sqlite") or not place):
            raise ConfigError(
                f"live.database must begin with postgresql:// or sqlite:, got {self.database!r}"
            )
        user = place.rpartition("@")[0]
        if kind == "postgresql" and (":" in user or "password" in place):
            raise ConfigError(
                "live.database holds a password, which would be written to the run directory",
                hint="set PGPASSWORD, or keep it in ~/.pgpass",
            )
        host, _, port = self.mail.rpartition(":")
        if self.mail and not (host and port.isdecimal()):
            raise ConfigError(f"live.mail must be host:port, got {self.mail!r}")
        if self.send and not (self.mail and self.recipients):
            raise ConfigError(
                "live.send needs a server and recipients",
                hint="""set live.mail=host:port and live.recipients='["@example.org"]'""",
            )

    def may_write_to(self, address: str) -> bool:
        """True if the allow-list names the address or its domain."""
        address = address.lower()
        domain = "@" + address.rpartition("@")[2]
        return bool({address, domain} & {allowed.lower() for allowed in self.recipients})
