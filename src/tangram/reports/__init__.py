"""Decisions put into words and records for whoever asked: a person, a program, kube-scheduler.

Pure like everything below it, so that the scheduler, the dashboard and the command line tell the same story.
"""
