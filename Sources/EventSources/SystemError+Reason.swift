import LinuxSystem

/// What a source says of an error of which more is known than its name tells.
extension SystemError {
    /// A sentence, for the state of a source.
    var reason: String {
        if call == "epoll_ctl", errno == .notPermitted {
            return "it cannot be waited for: it is always ready, as a file is (Tail= reads files)"
        }
        return description
    }
}
