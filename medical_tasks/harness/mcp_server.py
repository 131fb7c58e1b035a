"""`calc --mcp`: the calculators as tools of the Model Context Protocol, over standard input and output.

Every agent that supports the protocol can call them; `medcalc_tools` offers a model the
same tools.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from medical_tasks._version import __version__
from medical_tasks.calculators import CALCULATORS, CalculatorInputError, find
from medical_tasks.calculators.tools import Called, call, tool_of
from medical_tasks.errors import MissingError, install_command

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
    )

SERVER_NAME: Final = "medical-tasks"


def serve() -> None:
    """Serves until the client closes standard input."""
    if importlib.util.find_spec("mcp") is None:
        raise MissingError(
            f"calc --mcp needs the package mcp, which is not installed: {install_command('mcp')}"
        )
    asyncio.run(_serve())


async def _serve() -> None:
    from mcp.server.stdio import stdio_server

    server = calculator_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def calculator_server() -> Server:
    """Makes the server, independent of its transport."""
    from mcp.server import Server

    return Server(
        SERVER_NAME,
        version=__version__,
        instructions="Clinical calculators by their published rules. Give numbers in the units that the parameters' names end in.",
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
    )


async def _list_tools(
    context: ServerRequestContext, parameters: PaginatedRequestParams | None
) -> ListToolsResult:
    from mcp.types import ListToolsResult, Tool, ToolAnnotations

    tools = [tool_of(entry) for entry in CALCULATORS]
    return ListToolsResult(
        tools=[
            Tool(
                name=tool.name,
                description=tool.description,
                input_schema=dict(tool.parameters),
                annotations=ToolAnnotations(read_only_hint=True),
            )
            for tool in tools
        ]
    )


async def _call_tool(
    context: ServerRequestContext, parameters: CallToolRequestParams
) -> CallToolResult:
    from mcp.types import CallToolResult, TextContent

    called = answered(parameters.name, parameters.arguments or {})
    return CallToolResult(
        content=[TextContent(type="text", text=called.text)],
        is_error=called.answer is None,
    )


def answered(name: str, arguments: Mapping[str, object]) -> Called:
    """Calls a tool by name; errors are returned to the caller, never raised."""
    try:
        calculator = find(name)
    except CalculatorInputError as error:
        return Called(text=f"Error: {error}")
    return call(calculator, arguments)
