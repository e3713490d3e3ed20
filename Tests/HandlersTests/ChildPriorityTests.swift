import Handlers
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@Suite("Priority of children", .ownThread) struct ChildPriorityTests {
    @Test func onlyUtilityAndBackgroundAreNicerThanTheDaemon() {
        for qos in [QoS.userInteractive, .userInitiated, .default] {
            #expect(ChildPriority(qos, nice: 3, io: .none) == ChildPriority(nice: 3, io: nil))
        }
        #expect(ChildPriority(.utility, nice: -2, io: .none) == ChildPriority(nice: 3, io: .bestEffort(6)))
        #expect(ChildPriority(.background, nice: -2, io: .none) == ChildPriority(nice: 8, io: .idle))
    }

    @Test func noChildIsMoreUrgentThanTheDaemon() {
        #expect(ChildPriority(.utility, nice: 0, io: .idle).io == .idle)
        #expect(ChildPriority(.utility, nice: 0, io: .bestEffort(7)).io == .bestEffort(7))
        #expect(ChildPriority(.background, nice: 0, io: .bestEffort(0)).io == .idle)
    }
}
