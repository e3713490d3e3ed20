import ControlInterface
import Engine
import EventSources
import LinuxSystem
import Varlink
import WatchFile

/// `Acquire`, and the end of the processes that hold units. Calls `done` once.
extension Runtime {
    func acquire(
        _ parameters: Acquire.Parameters, _ peer: Peer, _ ancestry: Ancestry, _ done: @escaping Request.Completion
    ) {
        guard parameters.timeoutUsec ?? 0 >= 0 else { return done(.error(.invalidParameter("timeout_usec"))) }
        guard holders.count < Tickets.limit else {
            return done(.of(.refused(reason: "\(Tickets.limit) processes hold units of semaphores already")))
        }
        let process: Tickets.ProcessEnd
        switch end(of: parameters.pid, as: peer) {
        case .failure(let refusal): return done(refusal.answer)
        case .success(let end): process = end
        }
        let count = parameters.count ?? 1
        let name = Self.shortName(parameters.name)
        let words = ["acquire", count == 1 ? name : "\(name):\(count)"] + (parameters.command ?? [])
        let request = EngineCommand.AcquireCommand(
            parameters.name, count: count, words: Array(words.prefix(100)), by: peer.name, for: process.holder,
            timeout: parameters.timeoutUsec.map { max(1, Int64($0)) }, caller: waiter(ancestry))
        command(.acquire(request), of: peer) { [unowned self] answer in
            switch answer {
            case .waited(let view?) where view.result == nil:
                keep(process, for: view.id)
                let held = engine.semaphoreViews.first { $0.definition.name == name }?.holders
                let members = held?.first { $0.operation == view.id }?.members ?? []
                done(
                    .of(
                        Acquire.Reply(
                            operation: Int(view.id), name: name, members: members.isEmpty ? nil : members)))
            case .waited(let view):
                process.cancel()
                done(.of(.refused(reason: "no units of \(name) were given: \(view?.endReason ?? "it has ended")")))
            case .timedOut:
                process.cancel()
                done(.of(.timedOut(what: "semaphore \(name)", state: standing(semaphore: name))))
            default:
                process.cancel()
                done(Self.failure(answer))
            }
        }
    }

    private func keep(_ process: Tickets.ProcessEnd, for id: UInt64) {
        let end = { [unowned self] in
            holders[id] = nil
            command(.endHold(operation: id)) { _ in }
        }
        // It may have ended while it waited.
        guard !process.hasEnded else {
            process.cancel()
            return end()
        }
        holders[id] = process
        process.ended = end
    }

    /// Of operations whose semaphore is in no watch file any more; to be called when the engine has them.
    func watchOrphanHolders() {
        for (id, holder) in engine.orphanHolders {
            if case .success(let process) = end(of: Int(holder.process)) {
                if process.holder == holder {
                    keep(process, for: id)
                    continue
                }
                process.cancel()
            }
            core.async { [bound] in bound.value.command(.endHold(operation: id)) { _ in } }
        }
    }

    private func standing(semaphore name: String) -> String {
        guard let view = engine.semaphoreViews.first(where: { $0.definition.name == name }) else { return "it is gone" }
        let held = view.holders.prefix(3).map { "\($0.handler) \($0.operation)" }.joined(separator: ", ")
        return "\(view.available) free" + (held.isEmpty ? "" : ", held by \(held)")
    }

    /// Why the end of a process cannot be waited for.
    struct NoProcess: Error { var answer: Request.Answer }

    /// - Parameter pid: as a client names it.
    func end(of pid: Int, as peer: Peer) -> Swift.Result<Tickets.ProcessEnd, NoProcess> {
        guard let named = Int32(exactly: pid), named > 0 else {
            return .failure(NoProcess(answer: .error(.invalidParameter("pid"))))
        }
        guard let here = Linux.process(named, asNamedBy: peer.processID) else {
            return .failure(NoProcess(answer: .of(.noSuchProcess(pid: pid))))
        }
        return end(of: Int(here), named: pid)
    }

    /// - Parameters:
    ///   - pid: as it is known here.
    ///   - named: as the client knows it.
    func end(of pid: Int, named: Int? = nil) -> Swift.Result<Tickets.ProcessEnd, NoProcess> {
        // watchd itself would never leave.
        guard let number = Int32(exactly: pid), number > 0, number != Linux.processID else {
            return .failure(NoProcess(answer: .error(.invalidParameter("pid"))))
        }
        do throws(SystemError) {
            let end = try Tickets.ProcessEnd(number, epoll: epoll)
            guard end.hasEnded else { return .success(end) }
            end.cancel()
            return .failure(NoProcess(answer: .of(.noSuchProcess(pid: named ?? pid))))
        } catch  where [.noSuchProcess, .invalidArgument].contains(error.errno) {
            return .failure(NoProcess(answer: .of(.noSuchProcess(pid: named ?? pid))))
        } catch {
            return .failure(NoProcess(answer: .error(.system(error.errno.code, error.errno.name))))
        }
    }
}
