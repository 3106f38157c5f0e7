"""Cluster-wide placement beside kube-scheduler: filter, bind, preempt, admission and the reasons for all of it."""
