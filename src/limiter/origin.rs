//! The name under which requests without a key are counted: the address that they come from. Knows nothing of requests.

use std::net::{IpAddr, Ipv6Addr};

/// The address that a request comes from; one name for the 64 bits of an IPv6 network. `forwarded_for` is believed only of
/// a peer among `trusted`, from its end to the first address that is not among them.
pub fn origin(peer: Option<IpAddr>, forwarded_for: Option<&str>, trusted: &[IpAddr]) -> String {
    let believed = |address: &IpAddr| trusted.contains(address);
    let forwarded = peer.filter(believed).and_then(|_| {
        let hops = forwarded_for?.rsplit(',').filter_map(|hop| hop.trim().parse::<IpAddr>().ok());
        hops.into_iter().find(|hop| !believed(hop))
    });
    match forwarded.or(peer) {
        Some(IpAddr::V6(address)) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).to_string(),
        Some(IpAddr::V4(address)) => address.to_string(),
        None => String::new(),
    }
}
