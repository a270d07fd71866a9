/// Where the certificates of ID tokens are found, at Google and on this host alike.
enum IDTokenCertificates {
    static let path = "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"
}
