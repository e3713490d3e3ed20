import EventSources
import LinuxSystem

/// The processes left of process groups, read from `/proc` beside the core.
///
/// Questions during a look are answered by the next one, so that hundreds of runs that end at once cost a few looks and
/// not hundreds. Confined to the core.
final class GroupMembers {
    typealias Answer = ([Int32]) -> Void

    private let core: Context
    private let slow: Lanes
    private var questions: [(leader: Int32, answer: Answer)] = []
    private var isLooking = false

    init(core: Context, slow: Lanes) {
        self.core = core
        self.slow = slow
    }

    /// The living processes of this one's group but itself, as they are after this call.
    func find(of leader: Int32, _ answer: @escaping Answer) {
        questions.append((leader, answer))
        if !isLooking { look() }
    }

    private func look() {
        isLooking = true
        let leaders = Set(questions.map(\.leader))
        let bound = QueueBound((self, questions), to: core)
        questions = []
        slow.submit("the list of process groups") { [core] in
            let found = Self.members(of: leaders)
            core.async {
                let (looker, questions) = bound.value
                for question in questions { question.answer(found[question.leader] ?? []) }
                looker.isLooking = false
                if !looker.questions.isEmpty { looker.look() }
            }
        }
    }

    private static func members(of leaders: Set<Int32>) -> [Int32: [Int32]] {
        var found: [Int32: [Int32]] = [:]
        for entry in (try? Linux.readFolder("/proc")) ?? [] {
            guard let process = Int32(String(decoding: entry.name, as: UTF8.self)),
                let place = Linux.place(of: process), !place.isZombie, place.groupID != process,
                leaders.contains(place.groupID)
            else { continue }
            found[place.groupID, default: []].append(process)
        }
        return found
    }
}
