import ControlInterface
import Varlink

/// Verbs that take several names or numbers.
extension Invocation {
    /// Does it for each operand, but for none where one of them is nothing that is known: those are tried first, so that
    /// the daemon says what is wrong with them. The other failures keep no operand from its turn.
    ///
    /// - Parameter kind: the names that the verb takes; a number is that of an operation.
    func forEachOperand(
        _ kind: ListNames.Kind, _ session: Session, _ work: (String) throws(Failure) -> Void
    ) throws(Failure) {
        guard operands.count > 1 else { return try forEach(operands, work) }
        let known = try known(kind, session)
        let doubtful = operands.filter { !known.contains($0) }
        let others = operands.filter(known.contains)
        do throws(Failure) {
            try forEach(doubtful, work)
        } catch {
            guard error.exitCode == .failed, !others.isEmpty else { throw error }
            var failure = error
            let list = others.map { "“\($0)”" }.joined(separator: ", ")
            failure.details.append("nothing was done with \(list): first every name has to be right")
            throw failure
        }
        try forEach(others, work)
    }

    /// Does it for each operand. A failure of one does not keep it from the others; all of them are told at the end.
    func forEachOperand(_ work: (String) throws(Failure) -> Void) throws(Failure) { try forEach(operands, work) }

    private func forEach(_ operands: [String], _ work: (String) throws(Failure) -> Void) throws(Failure) {
        var failures: [Failure] = []
        for operand in operands {
            do throws(Failure) {
                try work(operand)
            } catch {
                // Others would fail as well.
                guard error.exitCode == .failed else { throw error }
                failures.append(error)
            }
        }
        guard var last = failures.popLast() else { return }
        last.details = failures.flatMap { $0.details + [$0.message] } + last.details
        throw last
    }

    /// The operands that name something, as far as that can be asked.
    private func known(_ kind: ListNames.Kind, _ session: Session) throws(Failure) -> Set<String> {
        var known: Set<String> = []
        for operand in Set(operands) {
            if let id = Int(operand) {
                if try isKnown({ () throws(Failure) in _ = try session.reply(GetOperation.self, .init(id: id)) }) {
                    known.insert(operand)
                }
                continue
            }
            let names = try session.reply(ListNames.self, .init(kind: kind, prefix: operand)).names
            if names.contains(where: { $0 == operand || $0.hasSuffix("/\(operand)") }) { known.insert(operand) }
        }
        return known
    }

    private func isKnown(_ ask: () throws(Failure) -> Void) throws(Failure) -> Bool {
        do throws(Failure) {
            try ask()
            return true
        } catch {
            guard error.exitCode == .failed else { throw error }
            return false
        }
    }
}
