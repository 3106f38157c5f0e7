"""The cases in which our rules alone do not say what the real server says, each with the reason.

A test holds that every one of them still differs: one that no longer does is struck off.
"""

DIFFERENCES = {
    "pod-account-name-bad": "the account is looked up before the rules are asked, by whoever can look",
    "pod-priority-class-unknown": "the priority class is looked up before the rules are asked",
    "pod-runtime-class-bad": "the real server looks the runtime class up first; here its name is refused by the rules",
    "lease-time-without-fraction": "what is no time is refused where the request is read",
    "binding-without-target": "the real server forgets to say that the request was wrong, and answers 500",
    "job-name-too-long": "the labels that a Job takes over from its template are checked here too",
}
