//! The flow's state in Redis, for several processes: changed here, and written if nobody was faster. Knows nothing of the
//! rules.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisResult, Script};

use super::flow::Flow;

/// A command that takes longer has failed.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// The wait before Redis is tried again when it cannot be reached.
const UNREACHABLE_WAIT: Duration = Duration::from_millis(500);

/// A state that nobody touches for so long is of no use any more.
const FORGET_MS: u64 = 600_000;

/// Writes `ARGV[2]` if the value is still `ARGV[1]`, which is empty where there is none; otherwise gives the value.
const WRITE_IF_SAME: &str = "
    local value = redis.call('GET', KEYS[1]) or ''
    if value ~= ARGV[1] then return value end
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
    return false";

/// A flow that processes share.
pub(super) struct SharedFlow {
    key: String,
    write_if_same: Script,
    connection: ConnectionManager,
    /// The state as it was seen or written last: mostly nobody else has changed it, and one round trip is enough.
    known: Mutex<String>,
}

impl SharedFlow {
    /// The flow of this name in the Redis at `url`.
    pub(super) async fn connect(url: &str, name: &str) -> RedisResult<SharedFlow> {
        let config = ConnectionManagerConfig::new()
            .set_max_delay(COMMAND_TIMEOUT)
            .set_connection_timeout(Some(COMMAND_TIMEOUT))
            .set_response_timeout(Some(COMMAND_TIMEOUT));
        let connection = Client::open(url)?.get_connection_manager_with_config(config).await?;
        Ok(SharedFlow {
            key: format!("secchi:{name}:flow"),
            write_if_same: Script::new(WRITE_IF_SAME),
            connection,
            known: Mutex::default(),
        })
    }

    /// Changes the state. While Redis cannot be reached nobody may call anybody, so it waits.
    pub(super) async fn change<T>(&self, change: impl Fn(&mut Flow) -> T) -> T {
        let mut has_warned = false;
        loop {
            match self.try_change(&change).await {
                Ok(Some(result)) => return result,
                Ok(None) => {}
                Err(error) => {
                    if !has_warned {
                        tracing::warn!(%error, "Redis is not reachable; no call to the judge begins");
                        has_warned = true;
                    }
                    tokio::time::sleep(UNREACHABLE_WAIT).await;
                }
            }
        }
    }

    /// None if the state was another one than was known; it is known then.
    async fn try_change<T>(&self, change: impl Fn(&mut Flow) -> T) -> RedisResult<Option<T>> {
        let before = self.known().clone();
        // A state that another version wrote is as good as none.
        let mut flow: Flow = serde_json::from_str(&before).unwrap_or_default();
        let result = change(&mut flow);
        // Numbers and texts cannot fail to be written; an empty state would be as good as none.
        let after = serde_json::to_string(&flow).unwrap_or_default();
        let mut connection = self.connection.clone();
        let mut write = self.write_if_same.key(&self.key);
        let other: Option<String> =
            write.arg(before).arg(&after).arg(FORGET_MS).invoke_async(&mut connection).await?;
        let is_written = other.is_none();
        *self.known() = other.unwrap_or(after);
        Ok(is_written.then_some(result))
    }

    fn known(&self) -> MutexGuard<'_, String> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
