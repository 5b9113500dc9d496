"""The live office: the same tools, tasks and rules on real services.

Rows are read from PostgreSQL or from an SQLite file, documents lie in a real folder, messages go
through a real mail server, if `LiveConfig.send` says so. Success is judged on the same state.
"""

import smtplib
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from rung.core import Task
from rung.envs.definition import Definition
from rung.envs.live import LiveConfig
from rung.envs.office.goal import goal_of
from rung.envs.office.postgres import PostgresDatabase
from rung.envs.office.sql import Database
from rung.envs.office.world import Message, Office, restored, tables_of
from rung.errors import EnvError, ToolError

TIMEOUT_SECONDS = 10


def live_office(definition: Definition[Office], config: LiveConfig) -> Definition[Office]:
    """The office on the services of `config`."""

    def start(task: Task, _generator: Any) -> Office:
        goal = goal_of(task)
        folder = Path(config.folder) if config.folder else None
        return Office(
            goal,
            database=_database(config, tables_of(goal.world)),
            parent=folder,
            deliver=lambda message: _deliver(message, config),
        )

    def load(task: Task, saved: dict[str, Any]) -> Office:
        return restored(start(task, None), saved)

    return replace(definition, start=start, load=load)


def _database(config: LiveConfig, tables: dict[str, Any]) -> Any:
    kind, _, place = config.database.partition(":")
    match kind:
        case "postgresql":
            return PostgresDatabase(config.database, tables)
        case "sqlite":
            return Database(tables, folder=Path(place))
        case _:
            return Database(tables)


def _deliver(message: Message, config: LiveConfig) -> None:
    """Hand a message to the mail server.

    Raises:
        ToolError: the recipient is not on the allow-list, or the server refuses the address.
        EnvError: the server cannot be reached or failed.
    """
    if not config.send:
        return
    if not config.may_write_to(message.to):
        raise ToolError(f"not allowed to write to {message.to}")
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = config.sender, message.to, "Message"
    mail.set_content(message.text)
    if message.attachment is not None:
        mail.add_attachment(message.attached_text or "", filename=message.attachment)
    host, _, port = config.mail.rpartition(":")
    try:
        with smtplib.SMTP(host, int(port), timeout=TIMEOUT_SECONDS) as server:
            server.send_message(mail)
    except smtplib.SMTPRecipientsRefused:
        raise ToolError(f"the mail server refuses {message.to}") from None
    except (OSError, smtplib.SMTPException) as error:
        raise EnvError(f"the mail server {config.mail} failed: {error}") from error
