"""A Databricks workspace on loopback that keeps what it is given, for the real SDK and the real CLI to talk to."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import PurePosixPath
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:  # takes seconds to import
    from databricks.sdk import WorkspaceClient

Document = dict[str, Any]

NOTEBOOK = b"# Databricks notebook source"
USER = "ada@example.com"
_WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Refusal(Exception):
    """What the workspace answers in place of what it was asked for."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Document:
        found = json.loads(self.body or b"{}")
        assert isinstance(found, dict)
        return found

    @property
    def is_write(self) -> bool:
        return self.method in _WRITES


Answer = Callable[["Workspace", Asked, dict[str, str]], Any]
_ROUTES: list[tuple[str, re.Pattern[str], Answer]] = []


def _on(method: str, path: str) -> Callable[[Answer], Answer]:
    """`{name}` in a path is one part of it, `{name...}` all the rest."""
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", re.sub(r"\{(\w+)\.\.\.\}", r"(?P<\1>.+)", path))

    def add(answer: Answer) -> Answer:
        _ROUTES.append((method, re.compile(pattern), answer))
        return answer

    return add


@dataclass
class Workspace:
    """What is in the workspace, and what was asked of it."""

    files: dict[str, bytes] = field(default_factory=dict)
    """By path, without the `/Workspace` that a path may or may not begin with."""
    folders: set[str] = field(default_factory=lambda: {"/", "/Users", f"/Users/{USER}", "/Shared"})
    jobs: dict[int, Document] = field(default_factory=dict)
    runs: dict[int, Document] = field(default_factory=dict)
    catalogs: set[str] = field(default_factory=lambda: {"main"})
    schemas: dict[str, Document] = field(default_factory=dict)
    volumes: dict[str, Document] = field(default_factory=dict)
    permissions: dict[str, list[Document]] = field(default_factory=dict)
    scopes: dict[str, dict[str, str]] = field(default_factory=dict)
    warehouse: list[tuple[int, Document]] = field(default_factory=list)
    """How the warehouse answers, one after the other; the last one for ever."""
    ill: tuple[int, Document] | None = None
    """What it answers to everything, where it is set."""
    asked: list[Asked] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """Requests that it has no answer for."""
    url: str = ""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1001))
    _lock: Lock = field(default_factory=Lock)

    def client(self, **hurried: int) -> WorkspaceClient:
        """The real SDK, logged in here."""
        from databricks.sdk import WorkspaceClient
        from databricks.sdk.core import Config

        patience = {"retry_timeout_seconds": 1, **hurried}
        return WorkspaceClient(config=Config(host=self.url, token="t", **patience))

    def job(self, name: str) -> Document:
        """The settings of the one job with this name. A development target puts something before it."""
        (found,) = [one["settings"] for one in self.jobs.values() if one["settings"]["name"].split()[-1] == name]
        return dict(found)

    def number(self) -> int:
        return next(self._numbers)

    def answer(self, asked: Asked) -> tuple[int, Any]:
        with self._lock:
            self.asked.append(asked)
            if self.ill and asked.path.startswith("/api/"):
                return self.ill
            for method, pattern, answer in _ROUTES:
                if method == asked.method and (found := pattern.fullmatch(asked.path.rstrip("/"))):
                    return self._answered(answer, asked, found.groupdict())
            self.unknown.append(f"{asked.method} {asked.path}")
            return 404, {"error_code": "ENDPOINT_NOT_FOUND", "message": f"No API found for '{self.unknown[-1]}'"}

    def _answered(self, answer: Answer, asked: Asked, named: dict[str, str]) -> tuple[int, Any]:
        try:
            said = answer(self, asked, named)
        except Refusal as no:
            return no.status, {"error_code": no.code, "message": no.message}
        return said if isinstance(said, tuple) else (200, {} if said is None else said)


@contextmanager
def open_workspace() -> Iterator[Workspace]:
    """A new workspace, with a user and a catalog `main`."""
    workspace = Workspace()

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, said = workspace.answer(Asked(self.command, unquote(url.path), dict(parse_qsl(url.query)), body))
            told = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/octet-stream" if said is told else "application/json")
            self.send_header("Content-Length", str(len(told)))
            self.send_header("X-Databricks-Org-Id", "1")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(told)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _take  # noqa: N815 http.server looks for these

        def log_message(self, *_args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        workspace.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, daemon=True).start()
        yield workspace
        server.shutdown()


def _missing(what: str) -> Refusal:
    return Refusal(404, "RESOURCE_DOES_NOT_EXIST", what)


# Who and where.


@_on("GET", r"/\.well-known/databricks-config")
def _config(here: Workspace, _asked: Asked, _named: dict[str, str]) -> Document:
    return {"oidc_endpoint": f"{here.url}/oidc", "workspace_id": "1"}


@_on("GET", "/api/2.0/preview/scim/v2/Me")
def _me(_here: Workspace, _asked: Asked, _named: dict[str, str]) -> Document:
    return {"id": "7", "userName": USER, "displayName": "Ada", "groups": []}


@_on("POST", "/telemetry-ext")
def _telemetry(_here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    return {"errors": [], "numProtoSuccess": len(asked.document.get("protoLogs", ())), "numSuccess": 0}


# Files and folders.


def _place(path: str) -> str:
    return "/" + path.strip("/").removeprefix("Workspace").strip("/")


def _parents(path: str) -> list[str]:
    return [str(one) for one in PurePosixPath(path).parents]


def _folder(path: str) -> str:
    return str(PurePosixPath(path).parent)


@_on("GET", "/api/2.0/workspace/get-status")
def _status(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    return _object(here, _place(asked.query["path"]))


def _object(here: Workspace, path: str) -> Document:
    if path in here.folders:
        return {"path": path, "object_type": "DIRECTORY", "object_id": _id_of(path)}
    if path not in here.files:
        raise _missing(f"Path ({path}) doesn't exist.")
    if here.files[path].startswith(NOTEBOOK):
        return {"path": path, "object_type": "NOTEBOOK", "language": "PYTHON", "object_id": _id_of(path)}
    return {"path": path, "object_type": "FILE", "object_id": _id_of(path), "size": len(here.files[path])}


def _id_of(path: str) -> int:
    return int.from_bytes(path.encode()) % 10**12


@_on("GET", "/api/2.0/workspace/list")
def _list(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    folder = _place(asked.query["path"])
    if folder not in here.folders:
        raise _missing(f"Path ({folder}) doesn't exist.")
    inside = (one for one in (*here.folders, *here.files) if one != folder and _folder(one) == folder)
    return {"objects": [_object(here, one) for one in sorted(inside)]}


@_on("POST", "/api/2.0/workspace/mkdirs")
def _mkdirs(here: Workspace, asked: Asked, _named: dict[str, str]) -> None:
    path = _place(asked.document["path"])
    if path in here.files:
        raise Refusal(400, "RESOURCE_ALREADY_EXISTS", f"Path ({path}) already exists.")
    here.folders.update((path, *_parents(path)))


@_on("POST", "/api/2.0/workspace/delete")
def _delete(here: Workspace, asked: Asked, _named: dict[str, str]) -> None:
    path = _place(asked.document["path"])
    _object(here, path)
    inside = [one for one in (*here.folders, *here.files) if path in _parents(one)]
    if inside and not asked.document.get("recursive"):
        raise Refusal(400, "DIRECTORY_NOT_EMPTY", f"Folder ({path}) is not empty")
    for one in (path, *inside):
        here.folders.discard(one)
        here.files.pop(one, None)


@_on("POST", "/api/2.0/workspace-files/import-file/{path...}")
def _import(here: Workspace, asked: Asked, named: dict[str, str]) -> None:
    path = _place(named["path"])
    if asked.body.startswith(NOTEBOOK):
        path = path.removesuffix(".py")
    if _folder(path) not in here.folders:
        raise _missing(f"The parent folder ({_folder(path)}) does not exist.")
    if path in here.files and asked.query.get("overwrite") != "true":
        raise Refusal(409, "RESOURCE_ALREADY_EXISTS", f"Path ({path}) already exists.")
    here.files[path] = asked.body


@_on("GET", "/api/2.0/workspace-files/{path...}")
def _read(here: Workspace, _asked: Asked, named: dict[str, str]) -> bytes:
    return _content(here, _place(named["path"]))


@_on("GET", "/api/2.0/workspace/export")
def _export(here: Workspace, asked: Asked, _named: dict[str, str]) -> Any:
    content = _content(here, _place(asked.query["path"]))
    if asked.query.get("direct_download") == "true":
        return content
    return {"content": base64.b64encode(content).decode()}


def _content(here: Workspace, path: str) -> bytes:
    if path not in here.files:
        raise _missing(f"Path ({path}) doesn't exist.")
    return here.files[path]


# Jobs.


def _job(here: Workspace, number: object) -> Document:
    if int(str(number)) not in here.jobs:
        raise _missing(f"Job {number} does not exist.")
    return here.jobs[int(str(number))]


@_on("POST", "/api/2.[12]/jobs/create")
def _create_job(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    settings, number = asked.document, here.number()
    here.jobs[number] = {
        "job_id": number,
        "settings": settings,
        "creator_user_name": USER,
        "run_as_user_name": (settings.get("run_as") or {}).get("user_name", USER),
        "created_time": 0,
    }
    return {"job_id": number}


@_on("POST", "/api/2.[12]/jobs/reset")
def _reset_job(here: Workspace, asked: Asked, _named: dict[str, str]) -> None:
    _job(here, asked.document["job_id"])["settings"] = asked.document["new_settings"]


@_on("GET", "/api/2.[12]/jobs/get")
def _get_job(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    return _job(here, asked.query["job_id"])


@_on("GET", "/api/2.[12]/jobs/list")
def _list_jobs(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    named = asked.query.get("name")
    found = [one for one in here.jobs.values() if named in (None, one["settings"]["name"])]
    return {"jobs": found, "has_more": False}


@_on("POST", "/api/2.[12]/jobs/delete")
def _delete_job(here: Workspace, asked: Asked, _named: dict[str, str]) -> None:
    del here.jobs[_job(here, asked.document["job_id"])["job_id"]]


@_on("POST", "/api/2.[12]/jobs/run-now")
def _run_now(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    """Nothing is run: what a task would do is another test's matter."""
    job, number, given = _job(here, asked.document["job_id"]), here.number(), asked.document.get("job_parameters", {})
    here.runs[number] = {
        "run_id": number,
        "job_id": job["job_id"],
        "run_name": job["settings"]["name"],
        "run_page_url": f"{here.url}/run/{number}",
        "job_parameters": [{"name": name, "value": value} for name, value in given.items()],
        "state": {"life_cycle_state": "TERMINATED", "result_state": "SUCCESS", "state_message": ""},
        "tasks": [],
    }
    return {"run_id": number, "number_in_job": number}


@_on("GET", "/api/2.[12]/jobs/runs/get")
def _get_run(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    number = int(asked.query["run_id"])
    if number not in here.runs:
        raise _missing(f"Run {number} does not exist.")
    return here.runs[number]


# Unity Catalog.


@_on("GET", "/api/2.1/unity-catalog/current-metastore-assignment")
def _metastore(_here: Workspace, _asked: Asked, _named: dict[str, str]) -> Document:
    return {"metastore_id": "m", "workspace_id": 1, "default_catalog_name": "main"}


@_on("POST", "/api/2.1/unity-catalog/schemas")
def _create_schema(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    given = asked.document
    if given["catalog_name"] not in here.catalogs:
        raise Refusal(404, "CATALOG_DOES_NOT_EXIST", f"Catalog '{given['catalog_name']}' does not exist.")
    return _kept(here.schemas, "Schema", given, given["catalog_name"])


@_on("POST", "/api/2.1/unity-catalog/volumes")
def _create_volume(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    given = asked.document
    schema = f"{given['catalog_name']}.{given['schema_name'].lower()}"
    if schema not in here.schemas:
        raise Refusal(404, "SCHEMA_DOES_NOT_EXIST", f"Schema '{schema}' does not exist.")
    return {**_kept(here.volumes, "Volume", given, schema), "storage_location": f"s3://lake/{given['name']}"}


def _kept(there: dict[str, Document], kind: str, given: Document, above: str) -> Document:
    """Names come to be in small letters, whatever was asked for."""
    name = given["name"].lower()
    if (full := f"{above}.{name}") in there:
        raise Refusal(409, f"{kind.upper()}_ALREADY_EXISTS", f"{kind} '{full}' already exists")
    there[full] = {**given, "name": name, "full_name": full, "owner": USER}
    return there[full]


def _securable(here: Workspace, kind: str, name: str) -> tuple[dict[str, Document], Document]:
    there = here.schemas if kind == "schemas" else here.volumes
    if name not in there:
        raise Refusal(404, f"{kind[:-1].upper()}_DOES_NOT_EXIST", f"{kind[:-1].title()} '{name}' does not exist.")
    return there, there[name]


@_on("GET", "/api/2.1/unity-catalog/{kind}/{name}")
def _get_securable(here: Workspace, _asked: Asked, named: dict[str, str]) -> Document:
    return _securable(here, named["kind"], named["name"])[1]


@_on("PATCH", "/api/2.1/unity-catalog/{kind}/{name}")
def _update_securable(here: Workspace, asked: Asked, named: dict[str, str]) -> Document:
    there, found = _securable(here, named["kind"], named["name"])
    changed = {**found, **asked.document}
    if new := changed.pop("new_name", None):
        changed |= {"name": new, "full_name": f"{found['full_name'].rpartition('.')[0]}.{new}"}
    del there[named["name"]]
    there[changed["full_name"]] = changed
    return changed


@_on("DELETE", "/api/2.1/unity-catalog/{kind}/{name}")
def _delete_securable(here: Workspace, asked: Asked, named: dict[str, str]) -> None:
    there, found = _securable(here, named["kind"], named["name"])
    inside = [one for one in here.volumes if one.startswith(f"{found['full_name']}.")]
    if there is here.schemas and inside and asked.query.get("force") != "true":
        raise Refusal(400, "INVALID_STATE", f"Cannot delete the schema {found['full_name']}: it is not empty")
    for one in (*inside, found["full_name"]):
        here.volumes.pop(one, None)
        here.schemas.pop(one, None)


# Who may what.


@_on("GET", "/api/2.0/permissions/{kind}/{id}")
def _get_permissions(here: Workspace, _asked: Asked, named: dict[str, str]) -> Document:
    granted = here.permissions.get(f"{named['kind']}/{named['id']}", [])
    listed = [{**one, "all_permissions": [{"permission_level": one["permission_level"]}]} for one in granted]
    return {"object_id": f"/{named['kind']}/{named['id']}", "access_control_list": listed}


@_on("PUT", "/api/2.0/permissions/{kind}/{id}")
def _put_permissions(here: Workspace, asked: Asked, named: dict[str, str]) -> Document:
    here.permissions[f"{named['kind']}/{named['id']}"] = asked.document["access_control_list"]
    return _get_permissions(here, asked, named)  # type: ignore[no-any-return]


# Secrets.


def _scope(here: Workspace, name: str) -> dict[str, str]:
    if name not in here.scopes:
        raise _missing(f"Scope {name} does not exist!")
    return here.scopes[name]


@_on("GET", "/api/2.0/secrets/get")
def _get_secret(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    scope, key = _scope(here, asked.query["scope"]), asked.query["key"]
    if key not in scope:
        raise _missing(f"Secret does not exist with scope: {asked.query['scope']} and key: {key}")
    return {"key": key, "value": base64.b64encode(scope[key].encode()).decode()}


@_on("GET", "/api/2.0/secrets/list")
def _list_secrets(here: Workspace, asked: Asked, _named: dict[str, str]) -> Document:
    return {"secrets": [{"key": key} for key in _scope(here, asked.query["scope"])]}


# A SQL warehouse.


@_on("POST", "/api/2.0/sql/statements")
@_on("GET", "/api/2.0/sql/statements/{id}")
@_on("POST", "/api/2.0/sql/statements/{id}/cancel")
def _statement(here: Workspace, _asked: Asked, _named: dict[str, str]) -> tuple[int, Document]:
    return here.warehouse.pop(0) if len(here.warehouse) > 1 else here.warehouse[0]
