import ControlInterface
import Testing

@Suite("Path of the control socket")
struct ControlSocketPathTests {
    private let system = "/run/watchd/io.watchd.Manager"

    @Test func rootUsesTheSystems() {
        let path = ControlSocketPath.default(uid: 0, environment: ["XDG_RUNTIME_DIR": "/run/user/0"]) { _ in true }
        #expect(path == ControlSocketPath(own: system, path: system))
    }

    @Test func othersUseTheirOwnIfItExists() {
        let own = "/run/user/7/watchd/io.watchd.Manager"
        let environment = ["XDG_RUNTIME_DIR": "/run/user/7"]
        #expect(
            ControlSocketPath.default(uid: 7, environment: environment) { $0 == own }
                == ControlSocketPath(own: own, path: own))
        #expect(
            ControlSocketPath.default(uid: 7, environment: environment) { _ in false }
                == ControlSocketPath(own: own, path: system))
    }

    @Test(arguments: [[:], ["XDG_RUNTIME_DIR": ""], ["XDG_RUNTIME_DIR": "relative"]])
    func withoutARuntimeFolderThereIsOneByUser(environment: [String: String]) {
        let runUser = ControlSocketPath.default(uid: 7, environment: environment) { $0 == "/run/user/7" }
        #expect(runUser.own == "/run/user/7/watchd/io.watchd.Manager")
        let temporary = ControlSocketPath.default(uid: 7, environment: environment) { _ in false }
        #expect(temporary.own == "/tmp/watchd-7/io.watchd.Manager")
        #expect(temporary.path == system)
    }
}
