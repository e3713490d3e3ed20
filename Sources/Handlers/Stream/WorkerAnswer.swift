import Engine
import JSON

/// One line of `$WATCHD_ACK_FD`: `{"id":4711,"result":"ok"}`.
struct WorkerAnswer: Equatable {
    var id: UInt64
    var outcome: LineAnswer.Outcome

    /// `nil`: it is none.
    init?(_ line: [UInt8]) {
        if let quick = Self.quick(line) {
            self = quick
            return
        }
        guard let read = try? JSON.decode(Wire.self, from: line, limits: .foreign),
            let outcome = Self.outcome(read.result.utf8)
        else { return nil }
        (id, self.outcome) = (read.id, outcome)
    }

    init(id: UInt64, outcome: LineAnswer.Outcome) { (self.id, self.outcome) = (id, outcome) }

    private struct Wire: Decodable {
        var id: UInt64
        var result: String
    }

    private static func outcome(_ word: some Sequence<UInt8>) -> LineAnswer.Outcome? {
        if word.elementsEqual("ok".utf8) { return .ok }
        if word.elementsEqual("retry".utf8) { return .retry }
        return word.elementsEqual("fail".utf8) ? .fail : nil
    }

    /// The two members in this order, as nearly everybody writes them; anything else is left to the decoder.
    private static func quick(_ line: [UInt8]) -> WorkerAnswer? {
        var scan = Scan(rest: line[...])
        guard scan.take("{"), scan.take("\"id\""), scan.take(":"), let id = scan.number(), scan.take(","),
            scan.take("\"result\""), scan.take(":"), scan.take("\"")
        else { return nil }
        let word = scan.rest.prefix { $0 != UInt8(ascii: "\"") }
        scan.rest = scan.rest.dropFirst(word.count)
        guard let outcome = outcome(word), scan.take("\""), scan.take("}"), scan.isAtEnd else { return nil }
        return WorkerAnswer(id: id, outcome: outcome)
    }

    private struct Scan {
        var rest: ArraySlice<UInt8>

        var isAtEnd: Bool {
            mutating get {
                skip()
                return rest.isEmpty
            }
        }

        mutating func skip() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } }

        mutating func take(_ text: StaticString) -> Bool {
            skip()
            return text.withUTF8Buffer { text in
                guard rest.starts(with: text) else { return false }
                rest = rest.dropFirst(text.count)
                return true
            }
        }

        mutating func number() -> UInt64? {
            skip()
            var value: UInt64 = 0
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty, digits.count == 1 || digits.first != 0x30 else { return nil }
            for digit in digits {
                let (shifted, overflows) = value.multipliedReportingOverflow(by: 10)
                let (sum, overflowsToo) = shifted.addingReportingOverflow(UInt64(digit - 0x30))
                guard !overflows, !overflowsToo else { return nil }
                value = sum
            }
            rest = rest.dropFirst(digits.count)
            return value
        }
    }
}
