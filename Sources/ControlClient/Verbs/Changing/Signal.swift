import ControlInterface

extension Verb {
    static let signal = Verb(
        name: "signal", operands: "SEMAPHORE [N]", operandCount: 1...2, changes: true,
        summary: "give 1, or N, to a semaphore"
    ) { (invocation, session) throws(Failure) in
        let name = invocation.operands[0]
        let count = try count(invocation.operands.dropFirst().first)
        try session.show(Signal.self, .init(name: name, count: count)) { reply in
            [Styled("\(name): \(Phrases.count(reply.available)) free")]
        }
        return .done
    }

    /// A semaphore holds no more.
    private static let most = 1_000_000_000

    private static func count(_ text: String?) throws(Failure) -> Int? {
        guard let text else { return nil }
        guard let count = Int(text), (1...most).contains(count) else {
            throw .usage("a semaphore is given a whole number from 1 to \(most), not “\(text)”")
        }
        return count
    }
}
