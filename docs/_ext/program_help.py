"""Implements the directive `program-help COMMAND`, which shows `sparsecrf COMMAND --help` as tables.

Without a command, it lists the commands.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def _text(markup: str | None) -> str:
    """Help text without rich's [bold]; each paragraph is one line."""
    return re.sub(r"\[/?bold\]", "", markup or "").strip()


def _context(command: str) -> Any:
    """The click context of a command: `train`, `data fetch`."""
    from typer import main

    from sparsecrf.cli import app

    found = main.get_command(app)
    context = found.make_context("sparsecrf", [], resilient_parsing=True)
    for name in command.split():
        found = context.command.commands[name]
        context = found.make_context(name, [], parent=context, resilient_parsing=True)
    return context


def _names(parameter: Any, context: Any) -> str:
    """The option as in `--rho1 X`, or the name of the argument."""
    record = parameter.get_help_record(context)
    if record is None or parameter.param_type_name == "argument":
        return str(parameter.make_metavar(context)).strip("{}[]")
    long_first = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda name: not name.startswith("--"))
    metavar = "" if parameter.is_flag else f" {parameter.make_metavar(context)}"
    return f"{', '.join(long_first)}{metavar}"


def _default(parameter: Any, context: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.get_default(context, call=False)
    if default is None or default is False or default == [] or callable(default):
        return ""
    if parameter.param_type_name == "option" and parameter.is_flag:
        return max(parameter.opts, key=len)
    return str(getattr(default, "value", default))


class ProgramHelp(SphinxDirective):
    """Shows usage, description, options by panel, and examples."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        command = self.arguments[0] if self.arguments else ""
        context = _context(command)
        made: list[nodes.Node] = []
        if getattr(context.command, "commands", None):
            prefix = f"sparsecrf {command}".strip()
            rows = [(f"{prefix} {name}", _text(sub.help)) for name, sub in context.command.commands.items()]
            first = [(name, text.split("\n\n")[0], "") for name, text in rows]
            return [self._table(("command", "what it does"), first)]
        usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
        made.append(nodes.literal_block(usage, usage, language="text"))
        made += [nodes.paragraph("", part) for part in _text(context.command.help).split("\n\n")]
        panels: dict[str, list[tuple[str, str, str]]] = {}
        for parameter in context.command.get_params(context):
            if getattr(parameter, "hidden", False) or parameter.name == "help":
                continue
            kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panel = getattr(parameter, "rich_help_panel", None) or kind
            row = (_names(parameter, context), _text(parameter.help), _default(parameter, context))
            panels.setdefault(panel, []).append(row)
        for panel, table in panels.items():
            made.append(self._table((panel, "", "default"), table))
        examples = re.sub(r"^Examples?:\s*", "", _text(context.command.epilog))
        if examples:
            text = "\n".join(examples.split("\n\n"))
            made.append(nodes.literal_block(text, text, language="sh"))
        return made

    def _table(self, head: tuple[str, ...], rows: list[tuple[str, str, str]]) -> nodes.table:
        columns = len(head)
        table = nodes.table("", classes=["program-help"])
        group = nodes.tgroup("", cols=columns)
        group += [nodes.colspec("", colwidth=width) for width in (30, 55, 15)[:columns]]
        group += nodes.thead("", self._row([nodes.Text(text) for text in head]))
        body = nodes.tbody("")
        for name, text, default in rows:
            cells: list[nodes.Node] = [nodes.literal(name, name), nodes.Text(text)]
            cells.append(nodes.literal(default, default) if default not in ("", "required") else nodes.Text(default))
            body += self._row(cells[:columns])
        group += body
        table += group
        return table

    def _row(self, cells: list[nodes.Node]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("program-help", ProgramHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
