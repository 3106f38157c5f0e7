"""Who may do what: Kubernetes' rules of roles and bindings, asked before every request.

`wanted` reads what a request wants, `policy` is one rule of a role, `bindings` who holds which role, `authority` the
answer; `granting` keeps people from giving away more than they have, `impersonating` from speaking for anybody they
like, and `first_roles` are the roles a cluster begins with.
"""
