/// A place in a trace: the trace, and the span that something is done in (W3C Trace Context, level 1).
///
/// Nothing of it is drawn at random: the trace of an event and the span of a run follow from their numbers, which are
/// never given out twice, and from the machine (`TraceNumbers`). So a restart, and whoever reads the history, finds the
/// same ones again without anything being stored.
package struct TraceContext: Hashable, Sendable {
    /// The halves of the id of the trace; not both 0.
    package var high: UInt64
    package var low: UInt64
    /// 0: nothing has been done in it yet.
    package var span: UInt64
    /// Whoever has begun the trace may record it.
    package var isSampled: Bool

    package init(high: UInt64, low: UInt64, span: UInt64, isSampled: Bool = true) {
        (self.high, self.low, self.span, self.isSampled) = (high, low, span, isSampled)
    }

    /// The header `traceparent`: `VERSION-TRACE-SPAN-FLAGS`, in lower case. `nil`: it is none, or of the version that
    /// there cannot be. What a later version puts behind the flags is passed over.
    package init?(_ text: some Sequence<UInt8>) {
        let bytes = Array(text.prefix(Self.longest + 1))
        let fields = bytes.split(separator: UInt8(ascii: "-"), maxSplits: 4, omittingEmptySubsequences: false)
        guard bytes.count <= Self.longest, fields.count >= 4, fields[1].count == 32,
            let version = Self.number(fields[0], digits: 2), version != 0xFF, version > 0 || fields.count == 4,
            let high = Self.number(fields[1].prefix(16), digits: 16),
            let low = Self.number(fields[1].suffix(16), digits: 16), let span = Self.number(fields[2], digits: 16),
            let flags = Self.number(fields[3], digits: 2), high | low != 0, span != 0
        else { return nil }
        self.init(high: high, low: low, span: span, isSampled: flags & 1 != 0)
    }

    /// Bytes of a header that is read: a later version may say more than the 55 of this one.
    private static let longest = 512

    private static func number(_ text: ArraySlice<UInt8>, digits: Int) -> UInt64? {
        guard text.count == digits else { return nil }
        var value: UInt64 = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return value
    }

    /// 32 digits.
    package var traceID: String { Self.digits(high) + Self.digits(low) }
    /// 16 digits.
    package var spanID: String { Self.digits(span) }

    /// As `TRACEPARENT` tells it.
    package var header: String {
        // In one piece: each run has it.
        String(unsafeUninitializedCapacity: Self.size) { buffer in
            var end = 0
            func put(_ text: StaticString) {
                for index in 0..<text.utf8CodeUnitCount { buffer[end + index] = text.utf8Start[index] }
                end += text.utf8CodeUnitCount
            }
            func put(digits number: UInt64) {
                for index in 0..<16 {
                    let digit = UInt8(truncatingIfNeeded: number >> UInt64(60 - 4 * index)) & 0xF
                    buffer[end + index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                }
                end += 16
            }
            put("00-")
            put(digits: high)
            put(digits: low)
            put("-")
            put(digits: span)
            put(isSampled ? "-01" : "-00")
            return end
        }
    }

    /// Bytes of the header of this version.
    private static let size = 55

    private static func digits(_ number: UInt64) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }

    /// The name of the variable in an environment.
    package static let variable = "TRACEPARENT"
}

/// The traces of events and the spans of runs on this machine.
package struct TraceNumbers: Sendable {
    private let seed: UInt64

    /// - Parameter host: tells this machine from others, and stays.
    package init(host: [UInt8]) { seed = Self.mixed(FNV1a.hash(host.span)) }

    /// The trace that an event begins, where it is part of no other: it has no span yet.
    package func trace(ofEvent id: UInt64) -> TraceContext {
        let high = Self.mixed(seed ^ Self.mixed(id))
        let low = Self.mixed(high &+ id)
        return TraceContext(high: high, low: low == 0 ? 1 : low, span: 0)
    }

    /// The trace by the events that are kept of an operation, the first one first. `nil`: none is kept.
    package func trace(of events: [Event]) -> TraceContext? {
        events.first.map { $0.trace ?? trace(ofEvent: $0.id) }
    }

    /// The span of a run; never 0.
    package func span(of run: RunID) -> UInt64 {
        let place = UInt64(truncatingIfNeeded: run.attempt) << 32 ^ UInt64(truncatingIfNeeded: run.part)
        let span = Self.mixed(Self.mixed(seed) ^ Self.mixed(run.operation) ^ place)
        return span == 0 ? 1 : span
    }

    /// The finalizer of SplitMix64: each number has another one.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var mixed = number &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
