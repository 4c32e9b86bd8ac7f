"""Where the API server is and how to be let in: a pod's ServiceAccount, or a kubeconfig.

The official ``kubernetes`` client reads every kind of kubeconfig, at the price of 50 MB; the
operator runs inside the cluster and reads a kubeconfig only while it is developed and tested.
"""

import base64
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from gpu_triage.controller.kubeconfig import Cluster, Kubeconfig, User, read

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class AccessError(Exception):
    """The cluster cannot be reached as told; one line: what, where, what to do."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """An API server and the credentials for it."""

    server: str
    """Its URL, without a slash at the end."""
    source: str
    """Where all this was found."""
    inside: bool
    """Whether we are a pod of that cluster: then nobody stands by who could start us again."""
    tls: ssl.SSLContext | None = None
    """None for a server without TLS."""
    token: str = ""
    token_file: Path | None = None
    """Projected tokens are replaced within the hour: the file is read for every request."""
    proxy: str | None = None

    def bearer(self) -> str:
        """The token as of now; empty where a certificate is used. Raises OSError."""
        return self.token_file.read_text().strip() if self.token_file else self.token


def find(
    environ: Mapping[str, str],
    *,
    kubeconfig: str = "",
    context: str = "",
    account: Path = SERVICE_ACCOUNT,
) -> Access:
    """The access that was asked for, else the pod's own, else the user's kubeconfig.

    Args:
        environ: for KUBECONFIG, HOME and the address of the API server.
        kubeconfig: paths, separated by colons; wins over all else.
        context: the kubeconfig's; asks for a kubeconfig where it is given.
        account: folder of the pod's ServiceAccount.

    Raises:
        AccessError: there is none, or it cannot be used.
    """
    named = kubeconfig or environ.get("KUBECONFIG", "")
    if not named and not context and (account / "token").exists():
        return _inside(environ, account)
    home = Path(environ.get("HOME", "/")) / ".kube" / "config"
    paths = [Path(each).expanduser() for each in named.split(":") if each] or [home]
    if not any(path.exists() for path in paths):
        if named:
            raise AccessError(f"{named}: no such file; set KUBECONFIG to the path of a kubeconfig")
        raise AccessError(
            f"no cluster: this is no pod ({account}/token is missing), KUBECONFIG is not set and "
            f"{home} does not exist; set KUBECONFIG to the path of a kubeconfig"
        )
    return _outside(paths, context)


def _inside(environ: Mapping[str, str], account: Path) -> Access:
    host, port = (environ.get(f"KUBERNETES_SERVICE_{each}", "") for each in ("HOST", "PORT"))
    if not host or not port:
        raise AccessError(
            f"{account}/token is there and KUBERNETES_SERVICE_HOST or _PORT is not set: "
            "set both, or KUBECONFIG"
        )
    where = f"[{host}]" if ":" in host else host
    access = Access(
        server=f"https://{where}:{port}",
        source=str(account),
        inside=True,
        tls=_trust(str(account), (account / "ca.crt").read_text),
        token_file=account / "token",
    )
    _check_token(access)
    return access


def _outside(paths: Sequence[Path], context: str) -> Access:
    source = ":".join(map(str, paths))
    try:
        config = Kubeconfig.merged([read(path) for path in paths if path.exists()])
        name, cluster, user = config.chosen(context)
    except ValueError as error:
        raise AccessError(f"kubeconfig {source}: {error}") from None
    where = f"kubeconfig {source}, context {name}"
    _check_cluster(cluster, where)
    _check_user(user, where)
    access = Access(
        server=cluster.server.rstrip("/"),
        source=where,
        inside=False,
        tls=_context(cluster, user, where) if cluster.server.startswith("https:") else None,
        token=user.token or "",
        token_file=Path(user.token_file) if user.token_file and not user.token else None,
        proxy=cluster.proxy_url,
    )
    _check_token(access)
    return access


def _check_cluster(cluster: Cluster, where: str) -> None:
    if not cluster.server:
        raise AccessError(f"{where}: its cluster has no server; set one")
    for field, url in (("server", cluster.server), ("proxy-url", cluster.proxy_url)):
        if url and not _is_url(url):
            raise AccessError(f"{where}: its {field} {url!r} is no URL like https://HOST:6443")
    if cluster.tls_server_name:
        raise AccessError(f"{where}: tls-server-name is not supported; use a server name that is")


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _check_token(access: Access) -> None:
    try:
        token = access.bearer()
    except (OSError, UnicodeDecodeError) as error:
        raise AccessError(
            f"{access.source}: token: {error}; give a file that can be read"
        ) from None
    if not token.isascii() or any(each.isspace() or not each.isprintable() for each in token):
        raise AccessError(f"{access.source}: token: it is none, it holds blanks; renew it")


def _check_user(user: User, where: str) -> None:
    for field, value in (("exec", user.exec), ("auth-provider", user.auth_provider)):
        if value is not None:
            raise AccessError(
                f"{where}: its user logs in by {field}, which the operator does not run; give it a "
                "token: kubectl create token gpu-triage -n gpu-triage"
            )
    if user.username:
        raise AccessError(f"{where}: its user has a password, which no API server takes any more")


def _context(cluster: Cluster, user: User, where: str) -> ssl.SSLContext:
    def authority() -> str | None:
        if cluster.certificate_authority_data:
            return _decoded(cluster.certificate_authority_data).decode("ascii")
        if cluster.certificate_authority:
            return Path(cluster.certificate_authority).read_text()
        return None

    tls = _trust(where, authority)
    if cluster.insecure_skip_tls_verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    try:
        _load_client_certificate(tls, user)
    except (OSError, ValueError) as error:
        raise AccessError(f"{where}: client certificate: {error}; renew it") from None
    return tls


def _load_client_certificate(tls: ssl.SSLContext, user: User) -> None:
    """Takes the user's certificate; ssl reads it from files only."""
    with tempfile.TemporaryDirectory() as folder:

        def file(name: str, data: str | None, path: str | None) -> str | None:
            if not data:
                return path
            made = Path(folder) / name
            made.touch(mode=0o600)
            made.write_bytes(_decoded(data))
            return str(made)

        certificate = file("crt", user.client_certificate_data, user.client_certificate)
        key = file("key", user.client_key_data, user.client_key)
        if certificate is not None:
            tls.load_cert_chain(certificate, key)


def _decoded(data: str) -> bytes:
    return base64.b64decode("".join(data.split()), validate=True)


def _trust(where: str, authority: Callable[[], str | None]) -> ssl.SSLContext:
    try:
        certificates = authority()
        if certificates == "":
            raise ValueError("it is empty")  # ssl would trust whomever this machine trusts
        return ssl.create_default_context(cadata=certificates)
    except (OSError, ValueError) as error:
        raise AccessError(
            f"{where}: certificate authority: {error}; give the one of the API server"
        ) from None
