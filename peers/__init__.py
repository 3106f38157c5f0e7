"""HAMi's and Koordinator's own schedulers over our agent, as programs that a person has built."""
