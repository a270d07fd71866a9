import FunctionManifest
import HostTesting

extension FunctionManifest {
    static func callable(
        _ name: String, cors: CORSPolicy = .any, enforceAppCheck: Bool = false, heartbeatSeconds: Int? = 30,
        timeoutSeconds: Int = 60, concurrency: Int = 80, maxInstances: Int = 10
    ) -> FunctionManifest {
        var manifest = test(
            name,
            .callable(.init(cors: cors, enforceAppCheck: enforceAppCheck, heartbeatSeconds: heartbeatSeconds)),
            concurrency: concurrency, maxInstances: maxInstances)
        manifest.timeoutSeconds = timeoutSeconds
        return manifest
    }

    static func http(_ name: String, cors: CORSPolicy = .off, timeoutSeconds: Int = 60) -> FunctionManifest {
        var manifest = test(name, .http(.init(cors: cors)))
        manifest.timeoutSeconds = timeoutSeconds
        return manifest
    }
}
