-- Accounts as teams run them: keys with a name, a scope and an end; sign-ups; entries that are anonymous for a while.

ALTER TABLE api_keys ADD COLUMN name TEXT NOT NULL DEFAULT 'first key';
ALTER TABLE api_keys ADD COLUMN scope TEXT NOT NULL DEFAULT 'submit' CHECK (scope IN ('read', 'submit', 'admin'));
-- The first characters of the key, by which its team recognises it; of older keys they are not known.
ALTER TABLE api_keys ADD COLUMN prefix TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN expires_at_ms BIGINT;
ALTER TABLE api_keys ADD COLUMN last_used_at_ms BIGINT;
UPDATE api_keys SET scope = 'admin' WHERE team_id IN (SELECT id FROM teams WHERE role = 'maintainer');

-- Who asked for an account. The applicant holds the claim, of which only the hash is kept; the key is made at the moment
-- when it is told, and `key_id` says which one that was.
CREATE TABLE signups (
    id TEXT PRIMARY KEY NOT NULL,
    slug TEXT NOT NULL,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    affiliation TEXT,
    purpose TEXT,
    address_sha256 TEXT NOT NULL,
    claim_sha256 TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected')),
    reason TEXT,
    team_id TEXT REFERENCES teams (id),
    key_id TEXT REFERENCES api_keys (id),
    mail_attempts INTEGER NOT NULL,
    mail_not_before_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    decided_at_ms BIGINT
);
-- Locked by whoever signs up, so that the number from one address is counted one after the other.
INSERT INTO leases (name, owner, expires_at_ms, epoch, attempts) VALUES ('signups', NULL, 0, 0, 0);
CREATE INDEX signups_state ON signups (state, id);
CREATE INDEX signups_address ON signups (address_sha256, created_at_ms);

-- The UTC day from which an anonymous entry shows its team's name.
ALTER TABLE submissions ADD COLUMN anonymous_until TEXT;
CREATE INDEX submissions_anonymous ON submissions (anonymous_until) WHERE anonymous_until IS NOT NULL;
-- A team's file that comes again is found by its content.
CREATE INDEX submissions_content ON submissions (team_id, content_sha256);

-- The secret address at which reviewers see an entry, by the hash of its token: one a submission.
CREATE TABLE reviewer_links (
    submission_id TEXT PRIMARY KEY NOT NULL REFERENCES submissions (id),
    token_sha256 TEXT NOT NULL UNIQUE,
    created_at_ms BIGINT NOT NULL
);
