//! TLS 1.3.
//!
//! The certificate and its key are files here. They protect nothing, because both ends belong to one experiment; signatures
//! of their kind (Ed25519) have one length, so that sizes of packets repeat. They were made with `openssl genpkey` and
//! `openssl req -x509`.

use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::error::Error;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The server's name in the certificate.
pub(super) const SERVER: &str = "dumbbell.test";
static CERTIFICATE: &[u8] = include_bytes!("certificate.der");
static KEY: &[u8] = include_bytes!("key.der");

/// Both sides of TLS.
pub(super) struct Tls {
    pub client: Arc<QuicClientConfig>,
    pub server: Arc<QuicServerConfig>,
}

/// The two sides, or why there are none.
pub(super) fn tls() -> Result<&'static Tls, &'static str> {
    static TLS: LazyLock<Result<Tls, String>> = LazyLock::new(|| Tls::new().map_err(|error| error.to_string()));
    TLS.as_ref().map_err(String::as_str)
}

/// The time by which the certificate is judged: the simulated time has no date, and the machine's may be wrong.
#[derive(Debug)]
struct WithinValidity;

impl TimeProvider for WithinValidity {
    fn current_time(&self) -> Option<UnixTime> {
        // The year 2030.
        Some(UnixTime::since_unix_epoch(Duration::from_secs(60 * 365 * 86_400)))
    }
}

impl Tls {
    fn new() -> Result<Tls, Box<dyn Error>> {
        let certificate = CertificateDer::from(CERTIFICATE);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
        let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());

        let mut roots = RootCertStore::empty();
        roots.add(certificate.clone())?;
        let client = ClientConfig::builder_with_details(provider.clone(), Arc::new(WithinValidity));
        let client = client.with_protocol_versions(&[&TLS13])?;
        let mut client = client.with_root_certificates(roots).with_no_client_auth();
        // A session that another flow began would shorten the handshake of this one.
        client.resumption = Resumption::disabled();

        let server = ServerConfig::builder_with_details(provider, Arc::new(WithinValidity));
        let server = server.with_protocol_versions(&[&TLS13])?;
        let mut server = server.with_no_client_auth().with_single_cert(vec![certificate], key)?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        Ok(Tls { client: Arc::new(client.try_into()?), server: Arc::new(server.try_into()?) })
    }
}
