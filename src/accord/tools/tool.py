"""A tool: a function with a name, an argument model and the rule for when it needs an approval."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from accord._invoke import AsyncFunction, UserFunction, is_async, off_the_loop
from accord.errors import ConfigError, ToolError

ConfirmRule = bool | Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that flows can call by name.

    Implements: "Tools".

    Attributes:
        name: The name in the registry.
        description: What it does, for models and people.
        arguments: The pydantic model of its arguments.
        run: The function, async; a sync one runs in a worker thread.
        confirm: Whether a call needs an approval, or a function of the arguments that says so.
        returns: The annotation of what it returns; names the classes that a journal may hold.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: AsyncFunction
    confirm: ConfirmRule = False
    returns: object = None

    @classmethod
    def from_function(
        cls, fn: UserFunction, *, name: str | None = None, confirm: ConfirmRule = False
    ) -> Tool:
        """Make a tool from a function's signature and docstring.

        Args:
            fn: The function, sync or async; every parameter is an argument.
            name: The tool's name; the function's own by default.
            confirm: Whether a call needs an approval.

        Raises:
            ConfigError: If a parameter cannot be passed by name, an annotation is unknown, or
                `confirm` is async.
        """
        tool_name = name or str(getattr(fn, "__name__", type(fn).__name__))
        if callable(confirm) and is_async(confirm):
            raise ConfigError(
                f"tool {tool_name!r}: confirm is async, and a rule has to answer at once; pass a "
                "plain function of the arguments"
            )
        hints = _hints(tool_name, fn)
        return cls(
            name=tool_name,
            description=inspect.getdoc(fn) or "",
            arguments=_argument_model(tool_name, fn, hints),
            run=off_the_loop(fn),
            confirm=confirm,
            returns=hints.get("return"),
        )

    def validate(self, arguments: Mapping[str, Any]) -> BaseModel:
        """Return the arguments as the tool's argument model.

        Raises:
            ToolError: If they do not fit; the message names each argument and what is wrong.
        """
        try:
            return self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            # The value itself stays out of the message: it may be a secret.
            reasons = "; ".join(
                f"{'.'.join(map(str, problem['loc'])) or 'arguments'}: {problem['msg']}"
                for problem in error.errors(include_input=False, include_url=False)
            )
            raise ToolError(
                f"tool {self.name!r} got arguments that do not fit: {reasons}", tool=self.name
            ) from None

    def needs_approval(self, arguments: BaseModel) -> bool:
        """Tell whether a call with these arguments has to be approved.

        Raises:
            ToolError: If the rule fails.
        """
        if not callable(self.confirm):
            return self.confirm
        try:
            return bool(self.confirm(dict(arguments)))
        except Exception as error:
            raise ToolError(
                f"the confirm rule of tool {self.name!r} failed: {type(error).__name__}: {error}",
                tool=self.name,
            ) from error


def _hints(name: str, fn: UserFunction) -> dict[str, Any]:
    try:
        return get_type_hints(fn, include_extras=True)
    except (NameError, TypeError) as error:
        raise ConfigError(
            f"tool {name!r}: its annotations cannot be read ({error}); pass a function whose "
            "annotations name what its module knows"
        ) from error


def _argument_model(name: str, fn: UserFunction, hints: Mapping[str, Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {}  # what create_model takes: (annotation, default) by name
    for parameter in inspect.signature(fn).parameters.values():
        # pydantic makes a private attribute of a name that begins with _.
        if parameter.name.startswith("_") or parameter.kind not in (
            parameter.POSITIONAL_OR_KEYWORD,
            parameter.KEYWORD_ONLY,
        ):
            raise ConfigError(
                f"tool {name!r}: parameter {parameter.name!r} cannot be passed by name; "
                "give it a plain name and a type"
            )
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints.get(parameter.name, Any), default)
    try:
        return create_model(f"{name}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except (NameError, TypeError, ValueError) as error:
        raise ConfigError(f"tool {name!r}: {error}; rename the parameter") from error
