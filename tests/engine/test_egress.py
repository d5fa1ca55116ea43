"""Where results may be fetched from: scheme, host, port, every address, every redirect (D-17, P-7.10)."""

from collections.abc import Iterator

import pytest

from shortdrama_pipeline.errors import EgressRefused, MediaInvalid, Outside
from shortdrama_pipeline.providers.egress import allow, is_public
from shortdrama_pipeline.providers.ports import Binding
from shortdrama_pipeline.providers.transport import ResultGone, download
from tests.fake_vendor import FakeVendor, Fault, film

PUBLIC = "93.184.215.14"


def binding(
    base_url: str = "https://api.example.com",
    *,
    egress: tuple[str, ...] = ("cdn.example.com", "*.files.example.com"),
    allow_private: bool = False,
) -> Binding:
    return Binding("b", "video", "p", "m", base_url, "env:KEY", egress, allow_private, 1, 1)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "100.100.100.200", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1", "not",
    ],
)  # fmt: skip
def test_special_addresses_are_refused_however_they_are_written(address: str) -> None:
    assert not is_public(address)
    with pytest.raises(EgressRefused):
        allow("https://cdn.example.com/x", binding(), resolve=lambda *_: [PUBLIC, address])


def test_a_listed_host_is_pinned_to_the_address_that_was_checked() -> None:
    target = allow("https://a.files.example.com/x?y=1", binding(), resolve=lambda *_: [PUBLIC])
    assert (target.address, target.host, target.port) == (PUBLIC, "a.files.example.com", 443)


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("https://cdn.example.com/x", "cdn.example.com"),
        ("https://cdn.example.com:443/x", "cdn.example.com"),
        ("https://cdn.example.com:8443/x", "cdn.example.com:8443"),
        ("http://cdn.example.com:80/x", "cdn.example.com"),
        ("http://cdn.example.com:443/x", "cdn.example.com:443"),
        ("https://[2606:2800::1]/x", "[2606:2800::1]"),
        ("https://[2606:2800::1]:444/x", "[2606:2800::1]:444"),
    ],
)
def test_the_host_is_told_as_a_signed_link_signs_it(url: str, header: str) -> None:
    home = binding(url, allow_private=True)
    assert allow(url, home, resolve=lambda *_: [PUBLIC]).host_header == header


@pytest.mark.parametrize(
    "url",
    [
        "http://cdn.example.com/x", "ftp://cdn.example.com/x", "file:///etc/passwd", "https://evil.example.org/x",
        "https://cdn.example.com:8443/x", "https://user:pw@cdn.example.com/x", "https://files.example.com.evil.org/",
        "https://cdn.example.com\n.evil.org/", "//cdn.example.com/x", "https://", "https://cdn.example.com:x/",
        "https://127.0.0.1/x", "https://[::1]/x", "https://cdn.example.com@evil.example.org/x",
    ],
)  # fmt: skip
def test_every_other_place_is_refused_before_any_connection(url: str) -> None:
    with pytest.raises(EgressRefused):
        allow(url, binding(), resolve=lambda *_: [PUBLIC])


def test_a_private_base_is_allowed_for_that_host_and_port_only() -> None:
    home = binding("http://127.0.0.1:9000", allow_private=True, egress=())
    assert allow("http://127.0.0.1:9000/f", home).port == 9000
    for url in ("http://127.0.0.1:9001/f", "http://localhost:9000/f", "https://127.0.0.1/f"):
        with pytest.raises(EgressRefused):
            allow(url, home)
    with pytest.raises(EgressRefused):
        allow("http://127.0.0.1:9000/f", binding("http://127.0.0.1:9000", egress=()))


@pytest.fixture
def vendor() -> Iterator[FakeVendor]:
    found = FakeVendor()
    with found.serving():
        found.files["a"] = film(1)
        yield found


def fetch(vendor: FakeVendor, *, bytes_max: int = 10**7) -> bytes:
    home = binding(vendor.base_url, allow_private=True, egress=())
    return b"".join(download(f"{vendor.base_url}/v1/files/a", home, bytes_max=bytes_max))


def test_a_redirect_is_checked_like_the_first_link(vendor: FakeVendor) -> None:
    to = f"{vendor.base_url}/v1/files/a"
    vendor.file_faults.append(Fault(status=302, answer="", headers=(("location", to),)))
    assert fetch(vendor) == film(1)
    for where in ("http://169.254.169.254/latest", "http://localhost/x", "file:///etc/passwd"):
        vendor.file_faults.append(Fault(status=302, answer="", headers=(("location", where),)))
        with pytest.raises(EgressRefused):
            fetch(vendor)
    vendor.file_faults += [Fault(status=302, answer="", headers=(("location", to),))] * 9
    with pytest.raises(EgressRefused, match="too often"):
        fetch(vendor)
    assert "authorization" not in vendor.gets()[-1].headers


def test_size_breaks_and_dead_links_are_told_apart(vendor: FakeVendor) -> None:
    with pytest.raises(MediaInvalid):
        fetch(vendor, bytes_max=100)
    vendor.file_faults.append(Fault(then="cut"))
    with pytest.raises(Outside):
        fetch(vendor)
    vendor.file_faults.append(Fault(status=410, answer="gone"))
    with pytest.raises(ResultGone):
        fetch(vendor)
