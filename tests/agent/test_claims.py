"""Claims and their values: numbers, dates, names and addresses in many notations."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis.strategies import text

from remembrancer.claims.extract import claims_in, language_of, unify_characters
from remembrancer.claims.values import Claim, Clock, Dates, Name, PartialDate, Quantity, Verbatim

DAY = date(2026, 3, 11)  # a Wednesday


def claims_of(text: str, language: str | None = None) -> list[Claim]:
    """Return the claims of a text."""
    return claims_in(unify_characters(text), DAY, language or language_of(text))


def only(text: str, language: str | None = None) -> Claim:
    """Return the only claim of a text."""
    [claim] = claims_of(text, language)
    return claim


def amount(text: str, language: str | None = None) -> tuple[str | None, set[Fraction]]:
    """Return the dimension of the only number of a text, and its possible amounts in base units."""
    value = only(text, language).value
    assert isinstance(value, Quantity)
    return value.dimension, set(value.amounts)


def days(text: str) -> list[str]:
    """Return the possible days of the only date of a text."""
    value = only(text).value
    assert isinstance(value, Dates)
    return [str(option.exact) for option in value.options if option.exact]


@pytest.mark.parametrize(
    ("text", "language", "dimension", "expected"),
    [
        ("1,250 EUR", "en", "eur", {"1250"}),
        ("€1 250", "en", "eur", {"1250"}),
        ("1.250 €", "de", "eur", {"1250", "1.25"}),
        ("1,250.75 USD", "de", "usd", {"1250.75"}),
        ("12 300,50 €", "fr", "eur", {"12300.5"}),
        ("1'250 CHF", "de", "chf", {"1250"}),
        ("US$2.4k", "en", "usd", {"2400"}),
        ("£3.5 million", "en", "gbp", {"3500000"}),
        ("2,5 Mio. Euro", "de", "eur", {"2500000"}),
        ("deux millions d'euros", "fr", "eur", {"2000000"}),
        ("3 millions d'euros", "fr", "eur", {"3000000"}),
        ("300 тысяч рублей", "ru", "rub", {"300000"}),
        ("180万元", "zh", "cny", {"1800000"}),
        ("3万5千元", "zh", "cny", {"35000"}),
        ("1.5 km", "en", "length", {"1500"}),
        ("1500 Metern", "de", "length", {"1500"}),
        ("一米七五", "zh", "length", {"1.75"}),
        ("84,5 m²", "de", "area", {"84.5"}),
        ("92 mètres carrés", "fr", "area", {"92"}),
        ("85 километрах", "ru", "length", {"85000"}),
        ("2,5 metros cúbicos", "es", "volume", {"2500"}),
        ("-5 °C", "en", "temperature_c", {"-5"}),
        ("minus 5 Grad", "de", "temperature_c", {"-5"}),
        ("零下5度", "zh", "temperature_c", {"-5"}),
        ("19 %", "de", "percent", {"19"}),
        ("nineteen per cent", "en", "percent", {"19"}),
        ("neunzehn Prozent", "de", "percent", {"19"}),
        ("dix-neuf pour cent", "fr", "percent", {"19"}),
        ("diecinueve por ciento", "es", "percent", {"19"}),
        ("девятнадцать процентов", "ru", "percent", {"19"}),
        ("百分之十九", "zh", "percent", {"19"}),
        ("百分之30", "zh", "percent", {"30"}),
        ("90 minutes", "en", "time", {"5400"}),
        ("1 h 30 min", "en", "time", {"5400"}),
        ("an hour and a half", "en", "time", {"5400"}),
        ("anderthalb Stunden", "de", "time", {"5400"}),
        ("une heure et demie", "fr", "time", {"5400"}),
        ("hora y media", "es", "time", set()),
        ("полтора часа", "ru", "time", {"5400"}),
        ("一个半小时", "zh", "time", {"5400"}),
        ("2个半小时", "zh", "time", {"9000"}),
        ("полчаса", "ru", "time", {"1800"}),
        ("half an hour", "en", "time", {"1800"}),
        ("zweieinhalb Jahre", "de", "months", {"30"}),
        ("64 ГБ", "ru", "data", {"64000000000"}),
        ("quatre-vingt-dix-sept litres", "fr", "volume", {"97"}),
        ("ciento veinte mil kilómetros", "es", "length", {"120000000"}),
        ("zweitausendvierhundertachtzig Euro", "de", "eur", {"2480"}),
        ("zweitausend Liter", "de", "volume", {"2000"}),
        ("one hundred and twenty-five litres", "en", "volume", {"125"}),
        ("двести пятьдесят рублей", "ru", "rub", {"250"}),
        ("一百二十平方米", "zh", "area", {"120"}),
        ("5544", "en", None, {"5544"}),
        ("3½ hours", "en", "time", {"12600"}),
    ],
)
def test_number_has_value_and_unit(
    text: str, language: str, dimension: str | None, expected: set[str]
) -> None:
    if not expected:
        assert claims_of(text, language) == []
        return
    assert amount(text, language) == (dimension, {Fraction(number) for number in expected})


@pytest.mark.parametrize(
    "text",
    [
        "14 May 2026",
        "May 14, 2026",
        "2026-05-14",
        "14.05.2026",
        "14. Mai 2026",
        "le 14 mai 2026",
        "14 de mayo de 2026",
        "14 мая 2026 года",
        "2026年5月14日",
        "14th of May 2026",
        "2026/05/14",
        "14-05-2026",
    ],
)
def test_date_notations_are_equivalent(text: str) -> None:
    assert days(text) == ["2026-05-14"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", ["2026-03-10"]),
        ("gestern", ["2026-03-10"]),
        ("avant-hier", ["2026-03-09"]),
        ("mañana", ["2026-03-12"]),
        ("позавчера", ["2026-03-09"]),
        ("后天", ["2026-03-13"]),
        ("next Tuesday", ["2026-03-17"]),
        ("next Friday", ["2026-03-13", "2026-03-20"]),
        ("letzten Freitag", ["2026-03-06"]),
        ("jeudi prochain", ["2026-03-12", "2026-03-19"]),
        ("下周三", ["2026-03-18"]),
        ("上周五", ["2026-03-06"]),
    ],
)
def test_relative_date_is_resolved_from_the_day_of_the_text(text: str, expected: list[str]) -> None:
    assert days(text) == expected


def test_days_from_now_are_a_number_and_a_date() -> None:
    counts = {
        phrase: only(phrase).also
        for phrase in (
            "in 3 days",
            "vor zwei Wochen",
            "il y a 3 jours",
            "через 3 дня",
            "3天后",
            "2 months ago",
        )
    }
    dates = {phrase: also.options[0] for phrase, also in counts.items() if also}

    assert dates == {
        "in 3 days": PartialDate(2026, 3, 14),
        "vor zwei Wochen": PartialDate(2026, 2, 25),
        "il y a 3 jours": PartialDate(2026, 3, 8),
        "через 3 дня": PartialDate(2026, 3, 14),
        "3天后": PartialDate(2026, 3, 14),
        "2 months ago": PartialDate(2026, 1, 11),
    }


def test_both_ends_of_a_range_are_claims() -> None:
    assert [
        claim.value
        for claim in claims_of("5-7 km")
        if isinstance(claim.value, Quantity) and claim.value.dimension == "length"
    ] == [Quantity(frozenset({Fraction(number)}), "length", Fraction(1000)) for number in (5, 7)]
    assert {
        claim.value.options[0].day
        for claim in claims_of("14.–16. Juni")
        if isinstance(claim.value, Dates)
    } == {14, 16}


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("14:30", {870}),
        ("2:30 pm", {870}),
        ("2:30", {150, 870}),
        ("14h30", {870}),
        ("14.30 Uhr", {870}),
        ("8 Uhr", {480, 1200}),
        ("9 утра", {540}),
        ("下午2点半", {870}),
        ("上午9点15分", {555}),
        ("12 am", {0}),
    ],
)
def test_time_of_day_is_parsed_to_minutes(text: str, minutes: set[int]) -> None:
    value = only(text).value

    assert isinstance(value, Clock)
    assert value.minutes == minutes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://WWW.Venue.example/Pay?id=7.", "venue.example/Pay?id=7"),
        ("在https://a.example/b。", "a.example/b"),
        ("write to Ada@Mail.example,", "ada@mail.example"),
        ("at 10.0.0.7:5432 now", "10.0.0.7:5432"),
        ("it is v2.11.0", "2.11.0"),
        ("call +49 30 1234567", "+49301234567"),
        ("code QX7T2M.", "qx7t2m"),
        ("dossier DX-4471", "dx-4471"),
        ("9" * 50, "9" * 50),
    ],
)
def test_verbatim_values_are_normalized(text: str, expected: str) -> None:
    assert only(text).value == Verbatim(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I asked Priya Raman about it.", [("priya", "raman")]),
        ("She met Dr. Okafor there.", [("okafor",)]),
        ("Call Anna at home.", [("anna",)]),
        ("Der Vertrag mit Karl-Heinz Brandt läuft.", [("karl", "heinz", "brandt")]),
        ("Er mag seinen Hund und das Haus.", []),
        ("Позвоните, её зовут Ольга Петрова.", [("ольга", "петрова")]),
        ("Thanks, Anna! Hello Bob, how are you?", []),
        ("On Monday in May I saw German trains.", []),
        ("The launch went well.", []),
    ],
)
def test_names_are_recognized(text: str, expected: list[tuple[str, ...]]) -> None:
    needed = [claim for claim in claims_of(text) if not claim.weak]

    assert [claim.value.words for claim in needed if isinstance(claim.value, Name)] == expected


@given(text(alphabet="0123456789.,:-/ €%ſσςkmhапмM月日年点百万一半½Uhr14mayFri", max_size=60))
def test_any_mixture_of_number_and_date_parts_is_parsed(text: str) -> None:
    assert all(
        text[claim.start : claim.end].strip()
        for claim in claims_in(unify_characters(text), DAY, "de", generous=True)
    )
