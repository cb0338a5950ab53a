"""The guides in docs/ do what they show."""
from guides import Guide
from harness import check, contains, equal, test


@test(waits=True)
def the_tutorial_does_what_it_shows(t):
    t.claim_namespace("tutorial")
    Guide(t, "docs/tutorial.md").run()


@test
def values_win_as_documented(t):
    t.claim_namespace("values")
    Guide(t, "docs/values.md").run()


@test
def ownership_is_as_documented(t):
    t.claim_namespace("owners")
    Guide(t, "docs/ownership.md").run()
