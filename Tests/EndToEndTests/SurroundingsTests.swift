import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// What whoever starts watchd has left to it, and what it is not allowed to have.
@Suite("Surroundings, end to end") struct SurroundingsTests {
    static let isRoot = Linux.effectiveUserID == 0
    private static let inUserNamespace = ["unshare", "--user", "--map-root-user"]
    static let hasUserNamespaces = (try? Program.run(inUserNamespace + ["true"]))?.code == 0

    private let poke = """
        [Custom poke]
        Exec=/bin/grep Sig /proc/self/status
        StandardOutput=file:@/signals

        """

    @Test func ignoredAndBlockedSignalsOfTheStarterAreTakenBack() throws {
        let launcher = ["env", "--ignore-signal=CHLD", "--ignore-signal=40", "--block-signal=ABRT"]
        try Watchd.run(poke, launcher: launcher) { watchd in
            try watchd.emit("poke")
            let totals = try watchd.waitUntilIdle()
            #expect((totals.done, totals.failed) == (1, 0))
            for field in ["SigBlk", "SigIgn", "SigCgt"] {
                #expect(watchd.folder.text("signals").contains("\(field):\t0000000000000000\n"))
            }
        }
    }
}
