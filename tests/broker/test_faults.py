import pytest

from broker.errors import ErrorCode, InternalError, NotFound
from broker.faults import as_gateway_error


def test_an_error_of_ours_stays_itself_even_inside_groups():
    ours = NotFound("gone")
    assert as_gateway_error(ours, "x") is ours
    assert as_gateway_error(ExceptionGroup("outer", [ValueError(), ExceptionGroup("inner", [ours])]), "x") is ours


@pytest.mark.parametrize("foreign", [ValueError("SID=secret99"), ExceptionGroup("group", [KeyError("SID=secret99")])])
def test_the_text_of_a_foreign_error_never_gets_out(foreign: Exception, caplog: pytest.LogCaptureFixture):
    error = as_gateway_error(foreign, "list_sources")
    assert isinstance(error, InternalError)
    assert error.code is ErrorCode.INTERNAL
    assert "secret99" not in repr(error.as_error())
    assert "list_sources" in error.message
    assert len(caplog.records) == 1
