"""The way to an API server: kubeconfig, credentials, and one kind of request, GET."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import msgspec

from gpu_triage.cli.failure import AnswerError

CONNECT_SECONDS = 10
READ_SECONDS = 60
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class RefusedError(Exception):
    """The API server answered, and not with what was asked for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api(Protocol):
    """An API server that can be read."""

    namespace: str
    """Where pods are looked for when no namespace is given."""

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """The body of the answer.

        Raises:
            RefusedError: 403, 404 and the like.
            AnswerError: no answer, or none that makes sense.
        """
        ...


def path(*parts: str) -> str:
    """A path of the API from its parts."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


class _Status(msgspec.Struct):
    message: str = ""


class Connection:
    """A connection by the official client: it knows every kind of kubeconfig.

    Only its configuration and its transport are used: building its models from the answers would
    cost 40 µs and 39 KB a pod.
    """

    def __init__(self, kubeconfig: str | None, context: str | None) -> None:
        """Reads the configuration.

        Args:
            kubeconfig: a path; None: as kubectl, then the pod's ServiceAccount.
            context: None: the current one.

        Raises:
            AnswerError: there is none, or it cannot be used.
        """
        self._complaints = _Complaints()
        configuration, self.namespace = _configure(kubeconfig, context, self._complaints)
        self._host = str(configuration.host).rstrip("/")
        self._configuration = configuration
        self._pool = _pool(configuration)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """See Api."""
        import urllib3  # noqa: PLC0415

        url = f"{self._host}{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            answer = self._pool.request(
                "GET",
                url,
                headers=self._headers(),
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
                retries=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise AnswerError(
                f"{self._host}: no answer ({_plain(error)}). Check the address, the network and"
                " --context."
            ) from None
        body: bytes = answer.data
        if answer.status == 401:
            told = f" ({self._complaints.text})" if self._complaints.text else ""
            raise AnswerError(
                f"{self._host}: the credentials are not accepted{told}. Log in again, or choose"
                " others with --context."
            )
        if answer.status >= 500 or answer.status == 429:
            raise AnswerError(
                f"{self._host}: the API server cannot answer now (HTTP {answer.status}:"
                f" {_message(body)}). Try again."
            )
        if answer.status != 200:
            raise RefusedError(answer.status, _message(body))
        return body

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": "gpu-triage"}
        for each in self._configuration.auth_settings().values():
            if each.get("in") == "header" and each.get("value"):
                headers[each["key"]] = each["value"]
        return headers


class _Complaints(logging.Handler):
    """Keeps what the client would log on its own: it goes into the one line that is printed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = " ".join(record.getMessage().split())[:300]


def _configure(
    kubeconfig: str | None, context: str | None, complaints: logging.Handler
) -> tuple[Any, str]:
    """The client's configuration, and the namespace of the context."""
    logging.getLogger().addHandler(complaints)
    config = _config()
    from kubernetes.client import Configuration  # noqa: PLC0415

    configuration = Configuration()
    paths = kubeconfig or os.environ.get("KUBECONFIG") or str(Path("~/.kube/config").expanduser())
    if not any(Path(each).is_file() for each in paths.split(os.pathsep) if each):
        if not (kubeconfig or os.environ.get("KUBECONFIG") or context):
            return _from_service_account(configuration, paths)
        raise AnswerError(f"kubeconfig {paths}: no such file. Check --kubeconfig and KUBECONFIG.")
    try:
        contexts, current = config.list_kube_config_contexts(config_file=paths)
        config.load_kube_config(
            config_file=paths,
            context=context,
            client_configuration=configuration,
            persist_config=False,
        )
    except Exception as error:  # the client raises its own, YAML's, binascii's and OSError alike
        raise AnswerError(
            f"kubeconfig {paths}: {_plain(error)}. Check it with `kubectl config view`, or name"
            " another with --kubeconfig or --context."
        ) from None
    wanted = context or current["name"]
    chosen = next((each for each in contexts if each["name"] == wanted), current)
    return configuration, (chosen.get("context") or {}).get("namespace") or "default"


def _config() -> Any:
    """The client's reader of configurations; it has no types."""
    from kubernetes import config  # noqa: PLC0415  (0.3 s, which answers from files need not pay)

    return config


def _from_service_account(configuration: Any, paths: str) -> tuple[Any, str]:
    config = _config()
    try:
        config.load_incluster_config(client_configuration=configuration)
        return configuration, _NAMESPACE_FILE.read_text().strip() or "default"
    except (config.ConfigException, OSError):
        raise AnswerError(
            f"no cluster to ask: {paths} is not there. Name a kubeconfig with --kubeconfig or"
            " KUBECONFIG, or answer from files with -f."
        ) from None


def _pool(configuration: Any) -> Any:
    import urllib3  # noqa: PLC0415
    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415

    # Who set insecure-skip-tls-verify knows; kubectl does not say it at each call either.
    urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    try:
        return RESTClientObject(configuration).pool_manager
    except (OSError, ValueError) as error:
        raise AnswerError(
            f"{configuration.host}: its certificates cannot be used ({_plain(error)}). Check"
            " certificate-authority, client-certificate and client-key in the kubeconfig."
        ) from None


def _plain(error: BaseException) -> str:
    """An error's last cause in one line, without addresses in memory."""
    reason = getattr(error, "reason", None)
    text = str(reason if isinstance(reason, BaseException) else error) or type(error).__name__
    text = text.split(">: ", 1)[-1] if text.startswith("<") else text
    text = text.rpartition("): ")[2] if text.startswith("HTTPSConnection(") else text
    return " ".join(text.split())[:300].rstrip(".")


def _message(body: bytes) -> str:
    try:
        told = msgspec.json.decode(body, type=_Status).message
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = body.decode(errors="replace")
    return " ".join(told.split())[:300].rstrip(".")
