"""C-081: what people give as a Drive document."""

from __future__ import annotations

import pytest

from broker.drive_documents import GOOGLE_DOCUMENT, DriveDocument, check_document
from broker.errors import InvalidArgument

ID = "1AbC-dEf_GhIjKlMnOpQrStUvWxYz0123456789abcd"


def test_c081_a_bare_id_is_a_document_as_given() -> None:
    assert check_document(ID, None) == DriveDocument(ID, GOOGLE_DOCUMENT)


def test_c081_the_kind_of_another_file_is_named_by_its_mime_type() -> None:
    assert check_document(ID, "application/pdf") == DriveDocument(ID, "application/pdf")


@pytest.mark.parametrize(
    "address",
    [
        f"https://docs.google.com/document/d/{ID}/edit",
        f"https://docs.google.com/spreadsheets/d/{ID}/edit#gid=0",
        f"https://docs.google.com/presentation/d/{ID}/edit?usp=sharing",
        f"https://drive.google.com/open?id={ID}",
        f"docs.google.com/document/d/{ID}",
    ],
)
def test_c081_an_address_is_refused_with_the_id_that_stands_in_it(address: str) -> None:
    with pytest.raises(InvalidArgument, match="id alone") as caught:
        check_document(address, None)
    assert f"here {ID}" in caught.value.hint


@pytest.mark.parametrize("doc_id", ["", " ", f"{ID} ", f"{ID[:5]} {ID[5:]}", f"{ID}\n", "a/b", "ä"])
def test_c081_what_is_no_id_is_refused(doc_id: str) -> None:
    with pytest.raises(InvalidArgument, match="doc_id"):
        check_document(doc_id, None)


@pytest.mark.parametrize("mime_type", ["pdf", "not a type", "application/", "text/plain; charset=utf-8"])
def test_what_is_no_mime_type_is_refused(mime_type: str) -> None:
    with pytest.raises(InvalidArgument, match="mime_type"):
        check_document(ID, mime_type)
