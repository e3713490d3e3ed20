// A test target sees the module; a build with Swift's runtime linked in (README, "Set up") has none.
#if canImport(Testing)
    import Glibc
    import LinuxSystem
    package import Testing

    /// Something that did not become true in time.
    package struct TimedOut: Error, CustomStringConvertible {
        package var description: String
        /// The line of the test that waited.
        package var sourceLocation: SourceLocation?

        package init(description: String, sourceLocation: SourceLocation? = nil) {
            (self.description, self.sourceLocation) = (description, sourceLocation)
        }
    }

    /// Waits until `condition` is true; generous, for a busy machine.
    ///
    /// A look has a price, for the program under test too: the next one comes when a quarter as long has passed as was
    /// waited until now, after 3 to 50 milliseconds, and a look that starts programs takes at most a quarter of the time.
    ///
    /// - Throws: `TimedOut`, naming what was waited for; whatever `condition` throws.
    package func wait(
        for what: @autoclosure () -> String, seconds: Int = 30, sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () throws -> Bool
    ) throws {
        let begin = Linux.now(.monotonic)
        while true {
            let look = Linux.now(.monotonic)
            if try condition() { return }
            let now = Linux.now(.monotonic)
            let (waited, price) = (Int((now - begin) / 1000), Int((now - look) / 1000))
            guard waited < seconds * 1000 else {
                throw TimedOut(
                    description: "waited \(seconds) s in vain for \(what())", sourceLocation: sourceLocation)
            }
            _ = poll(nil, 0, Int32(min(max(3, waited / 4), max(50, 3 * price), 1000)))
        }
    }

    extension Issue {
        /// Records what a test beside a daemon has thrown, with the end of what the daemon said, at the line that waited.
        package static func record(_ error: any Error, log: String, sourceLocation: SourceLocation) {
            let place = (error as? TimedOut)?.sourceLocation ?? sourceLocation
            record("\(error)\nThe log ends:\n\(log.suffix(6000))", sourceLocation: place)
        }
    }
#endif
