"""`hakiri errors` and `hakiri explain` tell what an error means and what to do about it."""

from __future__ import annotations

from cli.conftest import Hakiri


def test_an_error_is_explained_by_its_code(hakiri: Hakiri) -> None:
    answer = hakiri("explain", "hk806")
    assert answer.code == 0
    assert answer.out.startswith("HK806 KeyMissing (LandError): ")
    assert "error[HK806]: `<table>` has no column `<columns>`" in answer.out
    assert "help: name the table's `primary_key`" in answer.out
    assert "exit with 1" in answer.out


def test_a_program_gets_the_same_facts(hakiri: Hakiri) -> None:
    facts = hakiri("explain", "HK806", "--json").json()
    assert (facts["code"], facts["branch"], facts["recovery"]) == ("HK806", "LandError", "fix")
    assert facts in hakiri("errors", "--json").json()


def test_a_code_that_no_error_has_says_where_the_codes_are(hakiri: Hakiri) -> None:
    answer = hakiri("explain", "HK999")
    assert answer.code == 1
    assert (
        answer.err == "error[HK659]: there is no error with the code `HK999`\nhelp: `hakiri errors` lists all codes\n"
    )


def test_the_tree_indents_a_branch_below_its_own(hakiri: Hakiri) -> None:
    lines = hakiri("errors").out.splitlines()
    assert any(line.startswith("  LandError: ") for line in lines)
    assert any(line.startswith("    HK806 KeyMissing: ") for line in lines)
    assert hakiri("errors", "--json", "--markdown").code == 2
