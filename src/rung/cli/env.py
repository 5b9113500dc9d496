"""`rung env list|show|check`."""

import json
import sys
from typing import Annotated

import typer

from rung.cli.options import AsJson

app = typer.Typer(help="Look at environments and check them.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Built-in name, or module:attribute of your own.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """The environments at hand."""
    from rung.envs import load, names

    found = {name: load(name) for name in names()}
    if as_json:
        print(json.dumps([{"name": n, "tiers": d.tiers} for n, d in found.items()]))
        return
    for name, definition in found.items():
        print(f"{name}  tiers {', '.join(definition.tiers)}  {len(definition.tools)} tools")


@app.command()
def show(name: Name = "office", as_json: AsJson = False) -> None:
    """Tools, templates, rewards and an example task."""
    from dataclasses import asdict

    from rung.envs import load
    from rung.seeding import Seeds

    definition = load(name)
    examples = {
        f"{t.tier} {t.name}": t.draw(Seeds(0).generator("show")).text for t in definition.templates
    }
    if as_json:
        print(
            json.dumps(
                {
                    "name": definition.name,
                    "tools": [
                        {
                            "name": t.name,
                            "description": t.description,
                            "irreversible": t.irreversible,
                            "final": t.final,
                            "tier": t.tier,
                            "arguments": t.arguments.model_json_schema(),
                        }
                        for t in definition.tools
                    ],
                    "rewards": asdict(definition.rewards),
                    "examples": examples,
                }
            )
        )
        return
    print(definition.instructions())
    print("\nRewards:", ", ".join(f"{k} {v:g}" for k, v in asdict(definition.rewards).items()))
    print("\nTemplates, each with an example:")
    for template, text in examples.items():
        print(f"- {template}: {text}")


@app.command()
def check(name: Name = "office", as_json: AsJson = False) -> None:
    """Check an environment: contract, rewards, determinism, expert, cheats."""
    from rung.envs import load
    from rung.envs.check import check as run

    findings = run(load(name))
    if as_json:
        print(json.dumps([{"name": f.name, "ok": f.ok, "detail": f.detail} for f in findings]))
    else:
        for finding in findings:
            print(finding.line)
    if not all(finding.ok for finding in findings):
        sys.exit(1)
