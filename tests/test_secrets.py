"""Detection of secrets in any text, without false positives on similar text."""

from __future__ import annotations

import base64
import random
import string
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.accounts.keys import mint
from remembrancer.screening import (
    DetectedSecret,
    find_secrets,
    mask_secrets,
)

ALPHANUMERIC = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
_chance = random.Random(7)


def random_text(length: int, letters: str = ALPHANUMERIC) -> str:
    """Return a random secret, so that no file of the project contains one."""
    return "".join(_chance.choice(letters) for _ in range(length))


def token_part(text: str) -> str:
    """Return a part of a JSON web token."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def key_block(kind: str, lines: int) -> str:
    """Return a private key in PEM format."""
    body = "\n".join(random_text(64) for _ in range(lines))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


# text around the secret (`{}` is its position), the secret
SECRETS = {
    "OpenAI": ("{}", f"sk-proj-{random_text(20)}T3BlbkFJ{random_text(20)}"),
    "OpenAI, long": ("{}", f"sk-proj-{random_text(74)}T3BlbkFJ{random_text(74)}"),
    "OpenAI, old": ("{}", f"sk-{random_text(20)}T3BlbkFJ{random_text(20)}"),
    "Anthropic": ("{}", f"sk-ant-api03-{random_text(93)}AA"),
    "AWS": ("{}", f"AKIA{random_text(16, string.ascii_uppercase + '234567')}"),
    "AWS, secret half": ('aws_secret_access_key = "{}"', random_text(40)),
    "GitHub": ("{}", f"ghp_{random_text(36)}"),
    "GitHub, fine-grained": ("{}", f"github_pat_{random_text(22)}_{random_text(59)}"),
    "GitLab": ("{}", f"glpat-{random_text(20)}"),
    "Slack": (
        "{}",
        f"xoxb-{random_text(12, string.digits)}-{random_text(12, string.digits)}-{random_text(24)}",
    ),
    "Slack webhook": (
        "{}",
        f"https://hooks.slack.com/services/T{random_text(8, HEX.upper())}/B{random_text(10, HEX.upper())}/{random_text(24)}",
    ),
    "Stripe": ("{}", f"sk_live_{random_text(24)}"),
    "Stripe, test mode": ("{}", f"sk_test_{random_text(24)}"),
    "Google": ("{}", f"AIza{random_text(35)}"),
    "npm": ("{}", f"npm_{random_text(36)}"),
    "PyPI": ("{}", f"pypi-AgEIcHlwaS5vcmc{random_text(70)}"),
    "Hugging Face": ("{}", f"hf_{random_text(34, string.ascii_letters)}"),
    "SendGrid": ("{}", f"SG.{random_text(22)}.{random_text(43)}"),
    "Telegram": ("{}", f"{random_text(10, '123456789')}:AA{random_text(33)}"),
    "a key of this service": ("{}", mint()),
    "JSON web token": (
        "{}",
        ".".join(
            (
                token_part('{"alg":"HS256","typ":"JWT"}'),
                token_part('{"sub":"1234567890"}'),
                random_text(43),
            )
        ),
    ),
    "private key": ("{}", key_block("RSA ", 12)),
    "private key, newer": ("{}", key_block("", 3)),
    "private key, cut short": ("{}", key_block("EC ", 4).partition("-----END")[0].rstrip()),
    "URL with a password": ("https://ada:{}@git.acme-works.net/a", random_text(11)),
    "database URL": ("postgresql://app:{}@db.internal:5432/app", random_text(10)),
    "password =": ("password = {}", "hunter2xyz"),
    "password:": ("Password: {}", "correct-horse-7"),
    "in an environment": ("export DB_PASSWORD={}", "Vx8q2LmZp0!"),
    "in JSON": ('{{"password": "{}"}}', "Tr0ub4dor&3"),
    "said": ("My password is {}", "hunter2xyz"),
    "gesagt": ("Das Passwort ist {}", "hunter2xyz"),
    "по-русски": ("Пароль: {}", "hunter2xyz"),
    "中文": ("密码：{}", "hunter2xyz"),
    "api_key": ("api_key = '{}'", random_text(32, HEX)),
    "client_secret": ("client_secret: {}", random_text(32)),
    "bearer": ("Authorization: Bearer {}", random_text(40)),
    "longer than any bound": ("token = {}", random_text(300)),
}

PLAIN = {
    "prose of a password": (
        "The password for a good life is patience; a token of thanks is a secret of friendship."
    ),
    "a request": "I forgot my password again: could you remind me how to reset it?",
    "a hint": "Keep the key under the flower pot. The secret is: boil first, then salt.",
    "a policy": "What is the password policy? Passwords must have 12 characters and 2 digits.",
    "German prose": "Das Passwort steht im Tresor. Passwort: bitte im Tresor nachsehen",
    "code that asks": "password = input('Password: ')",
    "code that reads": "api_key = os.environ['API_KEY']; token = settings.token",
    "code that hashes": "hashlib.sha256(password.encode()).hexdigest()",
    "a loop": "for key, token in zip(keys, tokens): print(key, token)",
    "a placeholder": "Set `password: <your password>` in the file, or password=********",
    "a variable": "client_secret: ${CLIENT_SECRET}, secret = None",
    "SQL": "select id from keys where password = :password",
    "UUID": "id 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "git hash": "commit 9fceb02d0ae598e95dc970b74767f19372d61af8, fixed in 9fceb02",
    "SHA-256": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "ISBN": "ISBN 978-3-16-148410-0",
    "event id": "It leaves at 9:40 (ref: e_0123456789abc)",
    "cube id": "c_7k2m9x0v4t8qz",
    "picture": "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "picture in a page": "data:image/jpeg;base64,/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////",
    "prices": "It costs $1,299.99 or 45 EUR a month",
    "address": "https://example.org/a/b?id=12345678&page=2 and https://user@example.org/x",
    "mail": "write to ada@example.org",
    "time": "2026-03-01T09:30:00Z",
    "host": "10.0.0.12:8080 and postgresql://localhost/app",
    "seal": "REM | #12 | READ | VERIFY | CORRECT | OUTPUT",
    "phone": "+49 30 1234567",
    "IBAN": "DE89 3704 0044 0532 0130 00",
    "rule": "MUST pass a timeout to requests.get; SHALL retry on 503 with backoff.",
    "public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada@laptop",
    "public key block": "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJB\n-----END PUBLIC KEY-----",
    "words with sk": "sk-learn and risk-free task-based work",
    "example of AWS": "AKIAIOSFODNN7EXAMPLE",
}


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "Use {}, please.",
        "it is {}.",
        "Ünï ({}) — und so",
        "密钥在这里\n{}\n。",
        'as "{}"!',
        "`{}`",
        "first\r\n{}\r\nlast",
    ],
)
def test_secrets_are_found_and_masked_at_any_position(name: str, around: str) -> None:
    """Secrets are found and, with `mask`, masked (specification.md#remember-secret)."""
    inner, secret = SECRETS[name]
    text = around.format(inner.format(secret))

    secrets = find_secrets(text)
    masked_text = mask_secrets(text, secrets)

    assert secrets
    assert secret not in masked_text
    assert masked_text.startswith(text[: text.index(secret)].rstrip("'\""))
    assert find_secrets(masked_text) == []


@pytest.mark.parametrize("name", PLAIN)
def test_plain_texts_are_not_flagged(name: str) -> None:
    text = PLAIN[name]

    assert find_secrets(text) == []
    assert mask_secrets(text, []) == text


def test_joined_plain_texts_are_not_flagged() -> None:
    assert find_secrets("\n".join(PLAIN.values())) == []


def test_each_secret_is_reported_once_with_kind_and_position() -> None:
    one, two = SECRETS["GitHub"][1], SECRETS["database URL"][1]
    text = f"é {one} and postgresql://app:{two}@db.internal/app"

    secrets = find_secrets(text)

    assert [(secret.kind, text[secret.start : secret.end]) for secret in secrets] == [
        ("github-pat", one),
        ("generic-credential-uri", two),
    ]
    assert mask_secrets(text, secrets) == (
        "é [masked: github-pat] and "
        "postgresql://app:[masked: generic-credential-uri]@db.internal/app"
    )


def test_secret_encoded_in_base64_is_found() -> None:
    wrapped = base64.b64encode(f"token {SECRETS['GitHub'][1]} of the robot".encode()).decode()

    assert (
        mask_secrets(f"data: {wrapped} end", find_secrets(f"data: {wrapped} end"))
        == "data: [masked: github-pat] end"
    )


@pytest.mark.parametrize(
    "comment",
    [
        "kingfisher:ignore",
        "gitleaks:allow",
        "betterleaks:allow",
        "pragma: allowlist secret",
        "nosec",
    ],
)
def test_ignore_comments_do_not_hide_a_secret(comment: str) -> None:
    assert find_secrets(f"{SECRETS['GitHub'][1]}  # {comment}")


@settings(deadline=None)  # the first text waits for the detector's rules
@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from("password=: \n")), max_size=200))
def test_any_text_can_be_scanned(text: str) -> None:
    """Lone surrogates and NUL, which are refused elsewhere, are accepted here."""
    secrets = find_secrets(text)

    assert all(0 <= secret.start < secret.end <= len(text) for secret in secrets)
    assert len(mask_secrets(text, secrets)) >= len(text) - sum(
        secret.end - secret.start for secret in secrets
    )


def test_only_detected_secrets_are_masked() -> None:
    assert mask_secrets("as it was", []) == "as it was"
    assert (
        mask_secrets("abcdef", [DetectedSecret("x", 1, 2), DetectedSecret("y", 4, 6)])
        == "a[masked: x]cd[masked: y]"
    )


@pytest.mark.parametrize(
    "piece",
    [
        "password = ",
        "password: hunter2xyz9 ",
        "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJD" * 16 + "\n",
        "http://a:",
        "eyJhbGciOi.",
        "sk-",
    ],
)
def test_scan_of_a_hostile_megabyte_terminates(piece: str) -> None:
    """It must end within the test time limit; an unbounded pattern took a minute."""
    find_secrets(piece * (1_000_000 // len(piece)))


def test_secrets_can_be_scanned_by_many_threads() -> None:
    text = f"{'The ferry leaves at nine. ' * 200}{SECRETS['GitHub'][1]}"

    with ThreadPoolExecutor(4) as threads:
        result = list(threads.map(find_secrets, [text] * 40))

    assert all(one == result[0] for one in result)
    assert len(result[0]) == 1
