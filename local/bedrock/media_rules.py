"""Rules of documents and images (D-...)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from local.bedrock.case import Case, of_kind, repeated

_DOCUMENT_NAME = re.compile(r"[A-Za-z0-9()\[\]-]+(\s[A-Za-z0-9()\[\]-]+)*")
_MOST_DOCUMENTS, _DOCUMENT_BYTES = 5, 4_500_000
_MOST_IMAGES, _IMAGE_BYTES = 20, 3_750_000


def documents_keep_limits(case: Case) -> Iterator[str]:
    """D-DOC-LIMITS."""
    documents = _documents(case)
    if len(documents) > _MOST_DOCUMENTS:
        yield f"there are {len(documents)} documents, more than {_MOST_DOCUMENTS}"
    free: tuple[str, ...] = ("pdf", "docx") if case.model.family == "nova" else ()
    if case.model.family == "anthropic" and case.model.at_least(4, 0):
        free = ("pdf",)
    for document in documents:
        if document.get("format") not in free and _size(document) > _DOCUMENT_BYTES:
            yield f"the document {document['name']!r} is larger than 4.5 MB"


def images_keep_limits(case: Case) -> Iterator[str]:
    """D-IMAGE-LIMITS."""
    for index, message in enumerate(case.messages):
        images = _media(message, "image")
        if len(images) > _MOST_IMAGES:
            yield f"messages[{index}] has {len(images)} images, more than {_MOST_IMAGES}"
        if any(_size(image) > _IMAGE_BYTES for image in images):
            yield f"messages[{index}] has an image larger than 3.75 MB"


def document_comes_with_text(case: Case) -> Iterator[str]:
    """D-DOC-TEXT: of the message itself, not of its tool results."""
    for index, message in enumerate(case.messages):
        if of_kind(message, "document") and not of_kind(message, "text"):
            yield f"messages[{index}] has a document and must have a text too"


def document_names_are_neutral(case: Case) -> Iterator[str]:
    """D-DOC-NAME."""
    names = [document["name"] for document in _documents(case)]
    for name in names:
        if not _DOCUMENT_NAME.fullmatch(name):
            yield f"the document name {name!r} may have letters, digits, single spaces, hyphens, () and [] only"
    if again := repeated(names):
        yield f"several documents have the name {again[0]!r}"


def _documents(case: Case) -> list[dict[str, Any]]:
    return [document for message in case.messages for document in _media(message, "document")]


def _media(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """A message's media of a kind, those within tool results included."""
    in_results = [block for result in of_kind(message, "toolResult") for block in result["content"]]
    return [block[kind] for block in [*message["content"], *in_results] if kind in block]


def _size(media: dict[str, Any]) -> int:
    """The bytes of what is sent along; base64 has four characters for three of them."""
    return len(media["source"].get("bytes", "")) * 3 // 4
