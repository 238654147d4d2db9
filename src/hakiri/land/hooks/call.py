"""Call a hook of any kind; a failure becomes the hook's own error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, assert_never

from hakiri.land.delta.spark_session import isolated_session
from hakiri.land.errors import HookRefused
from hakiri.land.hooks.facts import failed
from hakiri.land.hooks.function import call_function
from hakiri.land.hooks.sql import run_sql, settings, translated
from hakiri.land.hooks.unity import call_unity
from hakiri.land.hooks.webhook import Webhooks
from hakiri.land.target import Target
from hakiri.model.hook import HookCall
from hakiri.spec.hook import FunctionHook, Hook, RefreshHook, SqlHook, WebhookHook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hakiri.land.hooks.views import Views


class Hooks(Protocol):
    """Calls hooks."""

    def perform(self, hook: Hook, call: HookCall, target: Target, *, earlier: Sequence[Hook] = ()) -> None:
        """Call the hook and wait for it to finish. A repeat calls it again, with the same key.

        SET statements among the earlier hooks of its list apply to it. Raises HookError and UnresolvedReference.
        """
        ...


@dataclass(frozen=True, slots=True)
class AllHooks:
    """Calls every kind of hook. The session is opened only for hooks that need one."""

    spark: Callable[[], SparkSession]
    views: Callable[[], Views]
    webhooks: Webhooks

    def perform(self, hook: Hook, call: HookCall, target: Target, *, earlier: Sequence[Hook] = ()) -> None:
        match hook:
            case SqlHook():
                session = self._session(call)
                for one in settings(earlier):
                    run_sql(one, call, session, target)
                run_sql(hook, call, session, target)
            case RefreshHook():
                self._views(call).refresh(hook.view, call)
            case WebhookHook():
                self.webhooks.send(hook, call)
            case FunctionHook() if "." in hook.function:
                call_unity(hook, call, self._session(call))
            case FunctionHook():
                call_function(hook, call)
            case _:
                assert_never(hook)

    def _views(self, call: HookCall) -> Views:
        try:
            return self.views()
        except ModuleNotFoundError as missing:
            reason = f"`{missing.name}` is not installed; it comes with `hakiri[databricks]`"
            raise failed(HookRefused, call, reason) from missing

    def _session(self, call: HookCall) -> SparkSession:
        with translated(call):
            return isolated_session(self.spark())
