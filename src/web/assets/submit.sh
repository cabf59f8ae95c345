auth="Authorization: Bearer $SECCHI_API_KEY"

# The questions of a split, one a line. Your model answers them into predictions.jsonl.
curl -fsS "$SECCHI_URL/api/v1/splits/val/questions" -H "$auth" -H "Accept: application/x-ndjson" -o questions.jsonl

# Is the file right? Nothing is stored, and no quota is used.
metadata='{"split":"val","model_name":"Reef-8B","access":"open","parameters_b":8}'
curl -sS "$SECCHI_URL/api/v1/submissions?dry_run=true" -H "$auth" -F "metadata=$metadata" -F predictions=@predictions.jsonl

# Submit it. The same request sent again makes no second submission.
curl -fsS "$SECCHI_URL/api/v1/submissions" -H "$auth" -H "Idempotency-Key: reef-8b-first" \
  -F "metadata=$metadata" -F predictions=@predictions.jsonl -o submission.json
submission="$SECCHI_URL/api/v1/submissions/$(jq -r .id submission.json)"

# Follow it until it has ended, then read its scores.
curl -fsSN "$submission/events" -H "$auth"
curl -fsS "$submission" -H "$auth" | jq .scores

# Put it on the board.
curl -fsS -X PATCH "$submission" -H "$auth" -H "Content-Type: application/json" -d '{"visibility":"public"}' -o published.json
