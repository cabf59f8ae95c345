//! The queue in Redis: a sorted set a line, scored by the instant of the push. A sorted set holds an id once, gives
//! the oldest first, tells depth and age, and has a blocking pop: all that a queue over a ledger needs.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, RedisResult, cmd};
use tokio::sync::Mutex;

use super::{Depth, QueueError};
use crate::domain::line::Line;

/// A command that takes longer has failed: who pushes goes on, and the reconciler pushes again.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// Connections that are tried anew for one command.
const COMMAND_RETRIES: usize = 2;

/// How much longer than the server's own wait the client waits for its answer.
const ANSWER_MARGIN: Duration = Duration::from_secs(5);

/// A queue in Redis; clones share its connections.
#[derive(Clone)]
pub struct RedisQueue {
    client: Client,
    commands: ConnectionManager,
    /// Connections that wait in a blocking pop: a shared one would stall every other command.
    idle_waiters: Arc<Mutex<Vec<MultiplexedConnection>>>,
    /// In the order of [`Line`].
    keys: [String; Line::COUNT],
}

impl RedisQueue {
    /// Connects to the Redis at `url`. The installation's id keeps two databases apart that share one Redis.
    ///
    /// # Errors
    /// When the address is none or Redis cannot be reached.
    pub async fn connect(url: &str, installation_id: &str) -> Result<RedisQueue, QueueError> {
        let client = Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(COMMAND_RETRIES)
            .set_max_delay(COMMAND_TIMEOUT)
            .set_connection_timeout(Some(COMMAND_TIMEOUT))
            .set_response_timeout(Some(COMMAND_TIMEOUT));
        let commands = client.get_connection_manager_with_config(config).await?;
        let lines = ["test", "val", "background-test", "background-val"];
        let keys = lines.map(|line| format!("secchi:{installation_id}:queue:{line}"));
        Ok(RedisQueue { client, commands, idle_waiters: Arc::default(), keys })
    }

    pub(super) async fn push(&self, line: Line, id: &str, now_ms: i64) -> Result<(), QueueError> {
        let key = &self.keys[line as usize];
        let mut connection = self.commands.clone();
        let _added: i64 =
            cmd("ZADD").arg(key).arg("NX").arg(now_ms).arg(id).query_async(&mut connection).await?;
        Ok(())
    }

    pub(super) async fn pop(&self, wait: Duration) -> Result<Option<String>, QueueError> {
        if wait.is_zero() {
            return self.pop_now().await;
        }
        let idle = self.idle_waiters.lock().await.pop();
        let mut waiter = match idle {
            Some(waiter) => waiter,
            None => {
                let config = AsyncConnectionConfig::new().set_response_timeout(Some(wait + ANSWER_MARGIN));
                self.client.get_multiplexed_async_connection_with_config(&config).await?
            }
        };
        let popped: RedisResult<Option<(String, String, f64)>> =
            cmd("BZPOPMIN").arg(&self.keys).arg(wait.as_secs_f64()).query_async(&mut waiter).await;
        // A connection that failed is dropped; the next pop opens another.
        let popped = popped?;
        self.idle_waiters.lock().await.push(waiter);
        Ok(popped.map(|(_, id, _)| id))
    }

    async fn pop_now(&self) -> Result<Option<String>, QueueError> {
        let mut connection = self.commands.clone();
        for key in &self.keys {
            let popped: Vec<(String, f64)> = cmd("ZPOPMIN").arg(key).query_async(&mut connection).await?;
            if let Some((id, _)) = popped.into_iter().next() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    pub(super) async fn depth(&self, last: Line) -> Result<Depth, QueueError> {
        let mut connection = self.commands.clone();
        let mut depth = Depth::default();
        for key in &self.keys[..=last as usize] {
            depth.waiting += cmd("ZCARD").arg(key).query_async::<u64>(&mut connection).await?;
            let head: Vec<(String, i64)> =
                cmd("ZRANGE").arg(key).arg(0).arg(0).arg("WITHSCORES").query_async(&mut connection).await?;
            let pushed_ms = head.first().map(|(_, pushed_ms)| *pushed_ms);
            depth.oldest_ms = [depth.oldest_ms, pushed_ms].into_iter().flatten().min();
        }
        Ok(depth)
    }
}
