import Schedule
import WatchFile

/// `DigestSec=` of a `Mail=`: one mail for all that comes in a span, from whatever sources.
///
/// The first delivery makes an operation of a source that the handler itself is (`Origin.digest`), and the later ones
/// join it until its span is over. It is stored, whatever its queue, and goes out also while the store fails: its news
/// may be that the disk is full. What is run by hand is told at once.
extension Engine {
    /// Bytes of an output that a digest tells.
    private static let outputLimit = 2048

    /// Microseconds; 0: each mail goes out at once.
    func digestSpan(handler: Int) -> Int64 {
        Int64(clamping: handlers[handler].definition.value.constraints.digest.microseconds)
    }

    /// Whether a delivery that comes from a source joins the digest of its handler.
    func isDigested(source: Int, handler: Int) -> Bool {
        guard handlers[handler].definition.value.constraints.digest > .zero else { return false }
        if case .digest = sources[source].origin { return false }
        return true
    }

    func isDigest(source: Int) -> Bool { if case .digest = sources[source].origin { true } else { false } }

    /// Moves a delivery that waits from its source to the digest of its handler, which it will be counted at.
    mutating func digest(
        _ event: Event, source: Int, _ target: SourceState.Target
    ) -> (event: Event, source: Int) {
        var event = event
        event.origin = sources[source].origin
        if case .completion(var fact) = event.fact {
            fact.output = Array(fact.output.suffix(Self.outputLimit))
            event.fact = .completion(fact)
        }
        let own = internalSource(.digest(handler: handlers[target.handler].name))
        sources[source].counters.enter(-event.count, at: .pending)
        sources[own].counters.enter(event.count, at: .pending)
        sources[own].lastEvent = event.time
        return (event, own)
    }
}
