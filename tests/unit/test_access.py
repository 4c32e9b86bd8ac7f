"""Where the API server is: a pod's ServiceAccount, kubeconfigs, and what may be wrong there."""

import base64
import ssl
import subprocess

import pytest
import yaml

from gpu_triage.controller.access import AccessError, find

SERVER = "https://10.0.0.1:6443"


@pytest.fixture(scope="module")
def pem(tmp_path_factory):
    """A certificate and its key."""
    folder = tmp_path_factory.mktemp("pem")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    made = [*command.split(), "-keyout", folder / "key", "-out", folder / "crt", "-subj", "/CN=x"]
    subprocess.run(made, check=True, capture_output=True)
    return folder


def config(folder, name="config", *, cluster=None, user=None, context="a"):
    """Write a kubeconfig with one context and return its path."""
    path = folder / name
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": "t"} if user is None else user}],
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def refusal(environ, **how):
    with pytest.raises(AccessError) as caught:
        find(environ, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def encoded(path):
    return base64.b64encode(path.read_bytes()).decode()


def test_a_pod_uses_its_service_account_and_reads_the_token_anew(tmp_path, pem):
    (tmp_path / "token").write_text("first\n")
    (tmp_path / "ca.crt").write_bytes((pem / "crt").read_bytes())
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = find(environ, account=tmp_path)
    assert (access.server, access.inside) == ("https://[fd00::1]:443", True)
    assert access.tls.verify_mode is ssl.CERT_REQUIRED
    assert access.bearer() == "first"
    (tmp_path / "token").write_text("second\n")
    assert access.bearer() == "second"


def test_a_kubeconfig_that_is_asked_for_wins_over_the_service_account(tmp_path):
    (tmp_path / "token").write_text("t")
    path = config(tmp_path)
    for access in (
        find({"KUBECONFIG": str(path)}, account=tmp_path),
        find({}, kubeconfig=str(path), account=tmp_path),
    ):
        assert (access.server, access.bearer(), access.inside) == (SERVER, "t", False)


def test_the_last_resort_is_the_users_own(tmp_path):
    (tmp_path / ".kube").mkdir()
    config(tmp_path / ".kube")
    assert find({"HOME": str(tmp_path)}, account=tmp_path / "none").server == SERVER


def test_several_files_are_one_and_the_first_wins(tmp_path):
    first = tmp_path / "first"
    first.write_text(
        yaml.safe_dump(
            {
                "current-context": "b",
                "contexts": [{"name": "b", "context": {"cluster": "c", "user": "own"}}],
                "users": [{"name": "own", "user": {"token": "first"}}],
            }
        )
    )
    second = config(tmp_path)
    paths = f"{first}:{tmp_path / 'missing'}:{second}"
    assert find({"KUBECONFIG": paths}).bearer() == "first"
    assert find({"KUBECONFIG": paths}, context="a").bearer() == "t"


def test_paths_in_a_kubeconfig_are_beside_it(tmp_path, pem):
    for name in ("crt", "key"):
        (tmp_path / name).write_bytes((pem / name).read_bytes())
    (tmp_path / "tok").write_text("from-a-file\n")
    cluster = {"certificate-authority": "crt"}
    user = {"client-certificate": "crt", "client-key": "key", "tokenFile": "tok"}
    access = find({"KUBECONFIG": str(config(tmp_path, cluster=cluster, user=user))})
    assert access.bearer() == "from-a-file"
    assert len(access.tls.get_ca_certs()) == 1


def test_certificates_may_stand_in_the_kubeconfig(tmp_path, pem):
    cluster = {"certificate-authority-data": encoded(pem / "crt")}
    user = {
        "client-certificate-data": encoded(pem / "crt"),
        "client-key-data": encoded(pem / "key"),
    }
    access = find({"KUBECONFIG": str(config(tmp_path, cluster=cluster, user=user))})
    assert access.bearer() == ""
    assert len(access.tls.get_ca_certs()) == 1


def test_a_server_may_go_unchecked_if_one_insists(tmp_path):
    path = config(tmp_path, cluster={"insecure-skip-tls-verify": True})
    assert find({"KUBECONFIG": str(path)}).tls.verify_mode is ssl.CERT_NONE


def test_a_server_may_be_without_tls_and_behind_a_proxy(tmp_path):
    cluster = {"server": "http://127.0.0.1:8001/", "proxy-url": "http://proxy:3128"}
    access = find({"KUBECONFIG": str(config(tmp_path, cluster=cluster))})
    assert (access.server, access.tls, access.proxy) == (
        "http://127.0.0.1:8001",
        None,
        "http://proxy:3128",
    )


@pytest.mark.parametrize(
    ("cluster", "user", "context", "message"),
    [
        ({}, {"exec": {"command": "aws"}}, "a", "logs in by exec, which the operator does not run"),
        ({}, {"auth-provider": {"name": "gcp"}}, "a", "logs in by auth-provider, which"),
        ({}, {"username": "x", "password": "y"}, "a", "its user has a password, which no API"),
        ({"tls-server-name": "x"}, {}, "a", "tls-server-name is not supported"),
        ({"server": ""}, {}, "a", "its cluster has no server; set one"),
        ({"server": "10.0.0.1:6443"}, {}, "a", "its server '10.0.0.1:6443' is no URL like https:"),
        ({"server": "https://x:99999"}, {}, "a", "its server 'https://x:99999' is no URL like"),
        ({"proxy-url": "socks5://x:1"}, {}, "a", "its proxy-url 'socks5://x:1' is no URL like"),
        ({}, {"tokenFile": "none"}, "a", "token: [Errno 2] No such file or directory"),
        ({}, {"token": "a\nb"}, "a", "token: it is none, it holds blanks; renew it"),
        ({"certificate-authority-data": "%%%="}, {}, "a", "certificate authority: Only base64"),
        ({"certificate-authority": "/dev/null"}, {}, "a", "certificate authority: it is empty"),
        ({}, {}, "b", "there is no context 'b'; choose one of: a"),
        ({}, {}, "", "no context is current; choose one of: a"),
        ({"certificate-authority": "none"}, {}, "a", "certificate authority: [Errno 2] No such"),
        ({"certificate-authority-data": "eA=="}, {}, "a", "certificate authority: "),
        ({}, {"client-certificate": "none"}, "a", "client certificate: [Errno 2] No such file"),
        ({"server": ["x"]}, {}, "a", "it is no kubeconfig: Expected `str`, got `array` - at `$.c"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path, cluster, user, context, message):
    path = config(tmp_path, cluster=cluster, user=user, context=context)
    line = refusal({"KUBECONFIG": str(path)})
    assert line.startswith(f"kubeconfig {path}")
    assert message in line


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "it is no YAML in line 1"),
        ("- 1", "it is no kubeconfig: Expected `object`, got `array`"),
        ("", "no context is current; choose one of: none"),
        ("{current-context: x}", "there is no context 'x'; choose one of: none"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_one_line(tmp_path, content, message):
    path = tmp_path / "config"
    path.write_text(content)
    assert refusal({"KUBECONFIG": str(path)}) == f"kubeconfig {path}: {message}"


def test_no_cluster_at_all_says_what_was_looked_for(tmp_path):
    none = tmp_path / "none"
    assert refusal({"HOME": str(none)}, account=none) == (
        f"no cluster: this is no pod ({none}/token is missing), KUBECONFIG is not set and "
        f"{none}/.kube/config does not exist; set KUBECONFIG to the path of a kubeconfig"
    )
    assert refusal({"KUBECONFIG": str(none)}) == (
        f"{none}: no such file; set KUBECONFIG to the path of a kubeconfig"
    )


def test_a_pod_without_the_servers_address_says_so(tmp_path):
    (tmp_path / "token").write_text("t")
    assert "KUBERNETES_SERVICE_HOST or _PORT is not set" in refusal({}, account=tmp_path)
