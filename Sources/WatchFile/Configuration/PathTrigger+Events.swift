extension PathTrigger {
    /// What is told of one of its paths.
    package func events(of path: [UInt8]) -> PathEvents { ownEvents[path] ?? events }
}
