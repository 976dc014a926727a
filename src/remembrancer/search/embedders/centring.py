"""Centre the vectors of a model, so that cosines of unrelated texts are near 0.

Many models put all texts into a narrow cone: two unrelated texts have a cosine of .7 with E5, .4
with BGE, .05 with the Universal Sentence Encoder. Subtracting the mean vector of unrelated texts
gives all of them about the same scale. The thresholds and weights of ranking hold for each then,
and vectors of two models can be in one index while one replaces the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .port import Embedder, Vectors, unit

# Unrelated everyday texts of chats, in several languages and registers.
SAMPLES = (
    "When does the ferry to the island leave in the morning?",
    "I moved the database to the new server last night.",
    "My sister's birthday is on the third of May.",
    "Please always answer in short sentences.",
    "The invoice was paid twice by mistake.",
    "def total(rows): return sum(row.price for row in rows)",
    "We need two kilos of flour and a dozen eggs.",
    "The doctor said the knee will need another six weeks.",
    "Which visa do I need for a stay of four months?",
    "He has been playing the violin since he was seven.",
    "The test fails with a timeout after thirty seconds.",
    "Our team lost the final on penalties.",
    "Can you recommend a quiet hotel near the station?",
    "The contract ends in December unless both sides renew it.",
    "She adopted a small grey cat from the shelter.",
    "Rainfall in the valley doubled between the two decades.",
    "Thanks, that helped a lot!",
    "I am thinking about changing my job next year.",
    "Add a column for the date of delivery to the table.",
    "The museum is closed on Mondays.",
    "Wie lange dauert die Fahrt nach München mit dem Zug?",
    "Ich habe gestern meine Schlüssel im Büro vergessen.",
    "Die Rechnung muss bis Ende des Monats bezahlt werden.",
    "Où peut-on acheter du bon pain dans ce quartier ?",
    "Mon ordinateur ne démarre plus depuis la mise à jour.",
    "Nous partons en vacances en Bretagne au mois d'août.",
    "¿Cuánto cuesta reparar la pantalla del teléfono?",
    "Mi abuela preparaba la sopa con mucho ajo.",
    "El informe trimestral muestra una caída de las ventas.",
    "Quanto tempo devo cozinhar o arroz integral?",
    "A reunião foi adiada para quinta-feira.",
    "Il concerto comincia alle nove in piazza.",
    "Devo cambiare le gomme prima dell'inverno.",
    "Сколько стоит билет на поезд до Казани?",
    "Вчера мы посадили три яблони за домом.",
    "Программа аварийно завершается при запуске.",
    "明天下午的会议改到三点了。",
    "这道菜需要放多少盐?",
    "私は来週から新しい会社で働きます。",
    "この本は図書館で借りられますか。",
    "오늘 저녁에 비가 온다고 합니다.",
    "متى يفتح المتجر في يوم الجمعة؟",
)


def mean_of(embedder: Embedder) -> Vectors:
    """Return the mean of the sample vectors, as passages and as queries: (dimensions,)."""
    return means_of(embedder.encode(SAMPLES), embedder.encode_queries(SAMPLES))


def means_of(passages: Vectors, queries: Vectors) -> Vectors:
    """Return the mean of the means of two sets of vectors, each (samples, dimensions)."""
    return np.asarray((passages.mean(axis=0) + queries.mean(axis=0)) / 2, np.float32)


def centred(vectors: Vectors, mean: Vectors) -> Vectors:
    """Subtract a mean vector and scale to unit length; zeros stay zeros.

    Source: Mu, Viswanath, "All-but-the-Top: Simple and Effective Postprocessing for Word
    Representations", ICLR 2018, without its removal of components.
    """
    has_tokens = vectors.any(axis=1, keepdims=True)
    return unit(np.where(has_tokens, vectors - mean, 0))


class Centred:
    """An embedder in this process whose vectors are centred."""

    is_remote = is_failing = False

    def __init__(self, embedder: Embedder) -> None:
        """Embed the samples once."""
        self.name, self.dimensions = embedder.name, embedder.dimensions
        self._embedder, self._mean = embedder, mean_of(embedder)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return centred(self._embedder.encode(texts), self._mean)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        return centred(self._embedder.encode_queries(texts), self._mean)
