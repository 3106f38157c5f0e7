"""Node choice by topology for people who keep their own scheduler: MetaX's gpu-aware."""
