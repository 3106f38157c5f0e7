"""The values of HAMi's Helm chart, and what each of them is in ours."""
