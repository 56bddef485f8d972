"""What AFCM does when nobody gives it a label: ``python -m studies [NAME …]``, read in docs/label-free.md."""
