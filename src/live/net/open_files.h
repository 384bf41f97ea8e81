// How many connections a server may hold, by the number of files that its process may open.
//
// A server that holds more connections than it has descriptors cannot accept another one and make
// room by closing the idle ones: the next client waits until one of them times out. Its other
// files (a database, a design, logs) cannot be opened either.
#pragma once

namespace orrery::net {

// Files that a server's process opens besides its connections.
inline constexpr int kOtherFiles = 32;
// Connections that a server takes at least, however few files it may open.
inline constexpr int kConnectionsLeast = 8;

// Returns `most`, or fewer if RLIMIT_NOFILE leaves no room for them.
int connections_that_fit(int most);

}  // namespace orrery::net
