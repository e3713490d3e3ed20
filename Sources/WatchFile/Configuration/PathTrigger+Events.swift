extension PathTrigger {
    /// The events that are told of one of its paths.
    package func events(of path: [UInt8]) -> PathEvents { ownEvents[path] ?? events }
}
