"""Requests with the token of a ServiceAccount: what is asked, and what is said."""

import json
import ssl
import urllib.error
import urllib.request

from tests.e2e import laboratory

MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"


class Account:
    """One who holds a token."""

    def __init__(self, cluster, token):
        self._url = cluster.url
        self._token = token
        trust = (
            ssl._create_unverified_context()
            if cluster.ca_file is None
            else ssl.create_default_context(cafile=str(cluster.ca_file))
        )
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )

    def send(self, method, path, body=None, content_type="application/json"):
        """Return the status and the object that comes back."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data=data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Content-Type", content_type)
        try:
            with self._opener.open(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def merge(self, path, body):
        """Send a merge patch."""
        return self.send("PATCH", path, body, MERGE)

    def apply(self, namespace, name, annotations, uid=None):
        """Set annotations on a pod as the operator does: server-side apply on its status."""
        metadata = {"name": name, "namespace": namespace}
        if annotations:
            metadata["annotations"] = annotations
        if uid:
            metadata["uid"] = uid
        return self.send(
            "PATCH",
            f"/api/v1/namespaces/{namespace}/pods/{name}/status?fieldManager=gpu-triage&force=true",
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata},
            APPLY,
        )


def wait_until_held(account, namespace, pod):
    """Wait until the policy refuses an account's write: in force a second after its binding."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/status?dryRun=All"
    patch = {"metadata": {"labels": {"not": "ours"}}}
    laboratory.wait_for("the policy refuses", lambda: account.merge(path, patch)[0] == 403)
