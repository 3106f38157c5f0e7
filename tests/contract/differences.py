"""Where the embedded API server is known to differ from the real one, and why it may.

A case listed here must differ: one that agrees again fails until its line is gone. A case not listed must agree.
"""

from __future__ import annotations

from typing import Final

DIFFERENCES: Final[dict[str, str]] = {
    "match_conditions_narrow_what_is_asked": (
        "matchConditions are written in CEL, which is not evaluated: the webhook is asked about all that its rules and "
        "selectors take"
    ),
    "a_rule_in_a_schema_is_enforced": "x-kubernetes-validations are written in CEL: they are kept and not evaluated",
    "the_version_is_that_of_kubernetes": "the sandbox says what it is: v1.36.3+tangram-sandbox",
    "an_account_is_given_a_token": "tokens of the sandbox are chance, not signed JSON Web Tokens",
    "a_form_nobody_serves_is_not_acceptable": (
        "protobuf is read and never written, so the list of forms that can be asked for is shorter"
    ),
    "the_columns_of_a_table_are_described": "the prose about fields, which kubectl get does not print, is left out",
    "a_limit_range_fills_in_and_refuses": "LimitRanges are kept and not enforced",
}

VERB_DIFFERENCES: Final[dict[tuple[str, str], str]] = {
    ("the_server_says_what_it_serves", "version"): "the sandbox says what it is: v1.36.3+tangram-sandbox",
    ("the_server_says_what_it_serves", "get --raw /version"): "the same",
    (
        "fields_are_explained",
        "explain configmap.data",
    ): "the prose about fields is left out; their names and types are told",
    (
        "things_are_created_by_name",
        "create token robot",
    ): "tokens of the sandbox are chance, not signed JSON Web Tokens",
}
"""The same for steps of kubectl's verbs: by session and command line."""
