"""Kubeconfig files: how kubectl merges several, and the cluster and user of a context."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml


class _Part(msgspec.Struct, rename="kebab"):
    pass


class Cluster(_Part):
    """Where an API server is."""

    server: str = ""
    certificate_authority: str | None = None
    certificate_authority_data: str | None = None
    insecure_skip_tls_verify: bool = False
    tls_server_name: str | None = None
    proxy_url: str | None = None


class User(_Part):
    """How to be let in."""

    token: str | None = None
    token_file: str | None = msgspec.field(name="tokenFile", default=None)
    client_certificate: str | None = None
    client_certificate_data: str | None = None
    client_key: str | None = None
    client_key_data: str | None = None
    username: str | None = None
    exec: Any = None
    auth_provider: Any = None


class Context(_Part):
    """A cluster and a user that belong together."""

    cluster: str = ""
    user: str = ""


class _Named(msgspec.Struct):
    name: str


class _NamedCluster(_Named):
    cluster: Cluster


class _NamedUser(_Named):
    user: User


class _NamedContext(_Named):
    context: Context


class Kubeconfig(_Part):
    """One file, or several merged."""

    current_context: str | None = None
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None

    @classmethod
    def merged(cls, configs: Sequence["Kubeconfig"]) -> "Kubeconfig":
        """Several files as one: the first that sets a value or a name wins, as for kubectl."""
        return cls(
            next((each.current_context for each in configs if each.current_context), None),
            [entry for each in configs for entry in each.clusters or ()],
            [entry for each in configs for entry in each.users or ()],
            [entry for each in configs for entry in each.contexts or ()],
        )

    def chosen(self, context: str) -> tuple[str, Cluster, User]:
        """The name, cluster and user of a context, the current one where none is named.

        Raises:
            ValueError: something that it names is not there.
        """
        name = context or self.current_context or ""
        known = ", ".join(each.name for each in self.contexts or ()) or "none"
        if not name:
            raise ValueError(f"no context is current; choose one of: {known}")
        chosen = _first(self.contexts, name)
        if chosen is None:
            raise ValueError(f"there is no context {name!r}; choose one of: {known}")
        cluster = _first(self.clusters, chosen.context.cluster)
        if cluster is None:
            raise ValueError(f"context {name} names the cluster {chosen.context.cluster!r}: none")
        user = _first(self.users, chosen.context.user)
        if user is None and chosen.context.user:
            raise ValueError(f"context {name} names the user {chosen.context.user!r}: none")
        return name, cluster.cluster, user.user if user is not None else User()


def read(path: Path) -> Kubeconfig:
    """A kubeconfig; paths in it are relative to the folder that it lies in.

    Raises:
        ValueError: it cannot be read, or is none.
    """
    try:
        raw = yaml.safe_load(path.read_text())
        config = msgspec.convert(raw if raw is not None else {}, Kubeconfig)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"it cannot be read: {error}") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where is not None else ""
        raise ValueError(f"it is no YAML{line}") from None
    except msgspec.ValidationError as error:
        raise ValueError(f"it is no kubeconfig: {error}") from None
    folder = path.parent
    for cluster in config.clusters or ():
        each = cluster.cluster
        each.certificate_authority = _beside(folder, each.certificate_authority)
    for user in config.users or ():
        own = user.user
        own.token_file = _beside(folder, own.token_file)
        own.client_certificate = _beside(folder, own.client_certificate)
        own.client_key = _beside(folder, own.client_key)
    return config


def _beside(folder: Path, path: str | None) -> str | None:
    return str(folder / path) if path else None


N = TypeVar("N", bound=_Named)


def _first(entries: Iterable[N] | None, name: str) -> N | None:
    return next((each for each in entries or () if each.name == name), None)
